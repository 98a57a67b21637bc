package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func snapshotHolds(t *testing.T, st store.Store) {
	pool(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, p)
	again := task("t2", 2)
	again.Attempt, again.DeviceID, again.HostID = 2, "d3", "h2"
	second := attempt("t2", 2, device("d3", "h2"))
	mustPut(t, st, lifecycle.Change{
		Tasks:    []phonebooth.Task{again},
		Attempts: []phonebooth.Attempt{ended(attempt("t2", 1, device("d1", "h1"))), ended(second)},
	})
	want := store.Snapshot{
		Pos: 4, Tasks: []phonebooth.Task{again, task("t3", 3)},
		Devices: []phonebooth.Device{device("d1", "h1"), device("d2", "h1"), device("d3", "h2")},
		Hosts:   []phonebooth.Host{host("h1"), host("h2")}, Reservations: p.Reserve,
		Failed: map[phonebooth.TaskID][]phonebooth.DeviceID{"t2": {"d1", "d3"}},
	}
	same(t, "snapshot", must[store.Snapshot](t)(st.Snapshot(t.Context())), want)
}

// snapshotIsOneState takes snapshots while tasks are added, each with its event: position and tasks always agree.
func snapshotIsOneState(t *testing.T, st store.Store) {
	const tasks = 20
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		defer close(done)
		for i := range tasks {
			v := task(phonebooth.TaskID(fmt.Sprintf("t%02d", i)), int64(i+1))
			if err := put(t, st, lifecycle.Change{Tasks: []phonebooth.Task{v}, Events: []phonebooth.Event{submitted(v)}}); err != nil {
				t.Errorf("write: %v", err)
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		snap := must[store.Snapshot](t)(st.Snapshot(t.Context()))
		if int(snap.Pos) != len(snap.Tasks) {
			t.Fatalf("a snapshot of position %d has %d tasks", snap.Pos, len(snap.Tasks))
		}
	}
	writing.Wait()
}

func dueSorts(t *testing.T, st store.Store) {
	pool(t, st)
	assigned := placed(task("t1", 1), device("d1", "h1"))
	dispatched := placed(task("t2", 2), device("d2", "h1"))
	dispatched.Attempts[0].State = phonebooth.AttemptDispatched
	over := ended(attempt("t3", 1, device("d3", "h2")))
	waiting, forever := task("t4", 10), task("t5", 11)
	waiting.QueueDeadline = after(10 * time.Second)
	silent, deaf, removed := host("h3"), host("h4"), host("h5")
	silent.SilentSince, deaf.DeafSince, removed.RemovedAt = base, base, base
	silent.PolledAt, deaf.HeardAt = after(time.Hour), after(time.Hour)
	mustPut(t, st, assigned)
	mustPut(t, st, dispatched)
	mustPut(t, st, lifecycle.Change{
		Tasks: []phonebooth.Task{waiting, forever}, Attempts: []phonebooth.Attempt{over}, Hosts: []phonebooth.Host{silent, deaf, removed},
	})
	late := after(15 * time.Second)
	for _, c := range []struct {
		name string
		at   store.DueTimes
		want store.Due
	}{
		{"nothing asked", store.DueTimes{}, store.Due{}},
		{"before", store.DueTimes{
			Assigned: late.Add(-1000), Dispatched: late.Add(-1000), Queue: after(10*time.Second - 1000),
			Heard: base.Add(-1000), Polled: base.Add(-1000),
		}, store.Due{}},
		{"assigned", store.DueTimes{Assigned: late}, store.Due{Attempts: assigned.Attempts}},
		{"dispatched", store.DueTimes{Dispatched: late}, store.Due{Attempts: dispatched.Attempts}},
		{"queue", store.DueTimes{Queue: after(10 * time.Second)}, store.Due{Tasks: []phonebooth.TaskID{"t4"}}},
		{"heard", store.DueTimes{Heard: base}, store.Due{Silent: []phonebooth.HostID{"h1", "h2"}}},
		{"polled", store.DueTimes{Polled: base}, store.Due{Deaf: []phonebooth.HostID{"h1", "h2"}}},
		{"all", store.DueTimes{Assigned: late, Dispatched: late, Queue: late, Heard: base, Polled: base}, store.Due{
			Attempts: append(assigned.Attempts[:1:1], dispatched.Attempts...), Tasks: []phonebooth.TaskID{"t4"},
			Silent: []phonebooth.HostID{"h1", "h2"}, Deaf: []phonebooth.HostID{"h1", "h2"},
		}},
	} {
		same(t, c.name, must[store.Due](t)(st.Due(t.Context(), c.at, 10)), c.want)
	}
	if due := must[store.Due](t)(st.Due(t.Context(), store.DueTimes{Heard: base}, 1)); len(due.Silent) != 1 {
		t.Errorf("asked for one, got %v", due.Silent)
	}
}

func pruneBatches(t *testing.T, st store.Store) {
	pool(t, st)
	finish := func(id phonebooth.TaskID, seq int64, when time.Time) {
		v := task(id, seq)
		v.Status, v.FinishedAt, v.Attempt = phonebooth.Done, when, 1
		mustPut(t, st, lifecycle.Change{Tasks: []phonebooth.Task{v}, Attempts: []phonebooth.Attempt{ended(attempt(id, 1, device("d1", "h1")))}})
	}
	finish("t1", 1, after(2*time.Second))
	finish("t2", 2, after(time.Second))
	finish("t3", 3, after(time.Minute))
	mustPut(t, st, lifecycle.Change{Tasks: []phonebooth.Task{task("t4", 4)}, Events: make([]phonebooth.Event, 9)})
	err := st.Write(t.Context(), func(tx store.Tx) error {
		return save(t.Context(), tx, lifecycle.Change{Events: make([]phonebooth.Event, 1)}, after(time.Minute))
	})
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	events := func() (positions []int64) {
		for _, e := range must[[]phonebooth.Event](t)(st.Events(t.Context(), store.EventFilter{})) {
			positions = append(positions, e.Pos)
		}
		return positions
	}
	prune := func(want ...phonebooth.TaskID) {
		t.Helper()
		same(t, "pruned", must[[]phonebooth.TaskID](t)(st.Prune(t.Context(), after(time.Minute), 1)), want)
	}
	prune("t2")
	same(t, "events after the first batch", events(), []int64{11, 12, 13})
	prune("t1")
	prune()
	same(t, "events after all batches", events(), []int64{13})
	left := must[store.TaskPage](t)(st.Tasks(t.Context(), store.TaskFilter{})).Tasks
	if len(left) != 2 || left[0].ID != "t4" || left[1].ID != "t3" {
		t.Errorf("left are %v, want t4, which is queued, and t3, which ended no earlier", left)
	}
}

// writersTakeTurns lets writers, readers and pruning meet. No write may fail, and none may be lost.
func writersTakeTurns(t *testing.T, st store.Store) {
	const writers, each = 8, 5
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := range each {
				h := host(phonebooth.HostID(fmt.Sprintf("h%d-%d", w, i)))
				change := lifecycle.Change{Hosts: []phonebooth.Host{h}, Events: []phonebooth.Event{{Kind: phonebooth.HostEnrolled, HostID: h.ID}}}
				if err := put(t, st, change); err != nil {
					t.Errorf("write: %v", err)
				}
				if _, err := st.Host(t.Context(), h.ID); err != nil {
					t.Errorf("read what was just written: %v", err)
				}
				if err := st.PutToken(t.Context(), store.Token{Hash: string(h.ID)}); err != nil {
					t.Errorf("put a token: %v", err)
				}
				if _, err := st.Prune(t.Context(), base, 10); err != nil {
					t.Errorf("prune: %v", err)
				}
			}
		})
	}
	work.Wait()
	events := must[[]phonebooth.Event](t)(st.Events(t.Context(), store.EventFilter{}))
	for i, e := range events {
		if e.Pos != int64(i+1) {
			t.Fatalf("event %d has position %d", i+1, e.Pos)
		}
	}
	if len(events) != writers*each {
		t.Errorf("%d events, want %d", len(events), writers*each)
	}
}
