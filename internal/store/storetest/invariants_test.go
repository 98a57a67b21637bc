package storetest

import (
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// sound is a database with a queued task, an assigned one on its second attempt, and one that is done.
func sound() record {
	d1, d2 := device("d1", "h1"), device("d2", "h1")
	queued, assigned, done := task("t1", 1), task("t2", 2), task("t3", 3)
	assigned.Status, assigned.Attempt, assigned.DeviceID, assigned.HostID = phonebooth.Assigned, 2, d1.ID, d1.HostID
	done.Status, done.Attempt, done.FinishedAt = phonebooth.Done, 1, base
	r := record{
		head:  store.Head{Queued: 1, Pos: 4},
		tasks: []phonebooth.Task{queued, assigned, done},
		attempts: map[phonebooth.TaskID][]phonebooth.Attempt{
			"t2": {ended(attempt("t2", 1, d2)), attempt("t2", 2, d1)}, "t3": {ended(attempt("t3", 1, d2))},
		},
		reservations: []phonebooth.Reservation{{DeviceID: d1.ID, Attempt: phonebooth.AttemptKey{TaskID: "t2", Number: 2}}},
		events:       []phonebooth.Event{submitted(queued), submitted(assigned), submitted(done), {Kind: phonebooth.TaskDone, TaskID: "t3"}},
	}
	for i := range r.events {
		r.events[i].Pos = int64(i + 1)
	}
	return r
}

func TestFaultsThatArePlantedAreFound(t *testing.T) {
	t.Parallel()
	if faults := sound().faults(); len(faults) > 0 {
		t.Fatalf("a sound database has faults: %q", faults)
	}
	for _, c := range []struct {
		name  string
		plant func(*record)
		want  string
	}{
		{"a reservation that outlived its attempt", func(r *record) {
			r.reservations = append(r.reservations, phonebooth.Reservation{DeviceID: "d2", Attempt: phonebooth.AttemptKey{TaskID: "t3", Number: 1}})
		}, "device d2 is reserved"},
		{"a reservation of another device", func(r *record) { r.reservations[0].DeviceID = "d2" }, "device d2 is reserved"},
		{"a live attempt without a reservation", func(r *record) { r.reservations = nil }, "is not reserved"},
		{"a second live attempt", func(r *record) {
			r.attempts["t2"][0] = attempt("t2", 1, device("d2", "h1"))
		}, "2 live attempts"},
		{"a live attempt of a queued task", func(r *record) {
			r.tasks[0].Attempt = 1
			r.attempts["t1"] = []phonebooth.Attempt{attempt("t1", 1, device("d2", "h1"))}
		}, "queued and has 1 live attempts"},
		{"no live attempt of an assigned task", func(r *record) {
			r.attempts["t2"][1] = ended(r.attempts["t2"][1])
		}, "assigned and has 0 live attempts"},
		{"an attempt in another state", func(r *record) { r.attempts["t2"][1].State = phonebooth.AttemptDispatched }, "attempt 2 is dispatched"},
		{"an attempt on another device", func(r *record) { r.tasks[1].DeviceID = "d2" }, "but attempt 2 is"},
		{"an ended attempt without an ending", func(r *record) { r.attempts["t3"][0].Ending = "" }, "with ending \"\""},
		{"a hole in the attempts", func(r *record) { r.attempts["t2"][0].Number = 3 }, "stands at place 1"},
		{"a lost attempt", func(r *record) { r.attempts["t3"] = nil }, "has 0 attempts"},
		{"an attempt too many", func(r *record) { r.tasks[1].MaxAttempts = 1 }, "attempt 2 of 1"},
		{"an end without a time", func(r *record) { r.tasks[2].FinishedAt = r.tasks[0].FinishedAt }, "finished at"},
		{"a time without an end", func(r *record) { r.tasks[0].FinishedAt = base }, "finished at"},
		{"a wrong count", func(r *record) { r.head.Queued = 2 }, "counts 2 queued"},
		{"a gap in the events", func(r *record) { r.events[2].Pos = 9 }, "position 9 follows 2"},
		{"a head that is ahead", func(r *record) { r.head.Pos = 5 }, "head is at position 5"},
		{"a task that was never submitted", func(r *record) { r.events[0].Kind = phonebooth.TaskRequeued }, "was submitted at []"},
		{"a task that was submitted twice", func(r *record) { r.events[1].TaskID = "t1" }, "was submitted at [1 2]"},
		{"a seq that is not the submission's", func(r *record) { r.tasks[0].Seq = 2 }, "has seq 2"},
		{"an end that nobody was told of", func(r *record) { r.events[3].Kind = phonebooth.TaskRequeued }, "ended as []"},
		{"another end than was told", func(r *record) { r.events[3].Kind = phonebooth.TaskFailed }, "ended as [task.failed]"},
		{"an end of a task that lives", func(r *record) { r.events[3].TaskID = "t1" }, "is queued and ended"},
	} {
		r := sound()
		c.plant(&r)
		if faults := strings.Join(r.faults(), "\n"); !strings.Contains(faults, c.want) {
			t.Errorf("%s: found %q, want something with %q", c.name, faults, c.want)
		}
	}
}

func TestPrunedEventsAreNoFault(t *testing.T) {
	t.Parallel()
	r := sound()
	r.events = r.events[2:]
	if faults := r.faults(); len(faults) > 0 {
		t.Errorf("with the older events pruned: %q", faults)
	}
	r.events = nil
	if faults := r.faults(); len(faults) > 0 {
		t.Errorf("with all events pruned: %q", faults)
	}
}
