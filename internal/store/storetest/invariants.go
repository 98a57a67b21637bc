package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// CheckInvariants reads the whole database and fails t for everything that may never be so, whatever happened before. The
// system may be running; it must come to rest now and then.
func CheckInvariants(t testing.TB, st store.Store) {
	t.Helper()
	r, err := readRecord(context.WithoutCancel(t.Context()), st)
	if err != nil {
		t.Errorf("invariants: read the database: %v", err)
		return
	}
	for _, fault := range r.faults() {
		t.Errorf("invariant broken: %s", fault)
	}
}

// record is all that a database says of tasks.
type record struct {
	head         store.Head
	tasks        []phonebooth.Task
	attempts     map[phonebooth.TaskID][]phonebooth.Attempt
	reservations []phonebooth.Reservation
	events       []phonebooth.Event
}

// readRecord reads until nothing happened meanwhile.
func readRecord(ctx context.Context, st store.Store) (record, error) {
	for range 100 {
		r, err := readOnce(ctx, st)
		if err != nil {
			return r, err
		}
		head, err := st.Head(ctx)
		if err != nil || head.Pos == r.head.Pos {
			return r, err
		}
	}
	return record{}, fmt.Errorf("it never came to rest")
}

func readOnce(ctx context.Context, st store.Store) (r record, err error) {
	if r.head, err = st.Head(ctx); err != nil {
		return r, err
	}
	page, err := st.Tasks(ctx, store.TaskFilter{})
	if err != nil {
		return r, err
	}
	r.tasks = page.Tasks
	r.attempts = map[phonebooth.TaskID][]phonebooth.Attempt{}
	for _, t := range r.tasks {
		if r.attempts[t.ID], err = st.Attempts(ctx, t.ID); err != nil {
			return r, err
		}
	}
	if r.reservations, err = st.Reservations(ctx); err != nil {
		return r, err
	}
	r.events, err = st.Events(ctx, store.EventFilter{})
	return r, err
}

// faults lists what is wrong.
func (r record) faults() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	queued := 0
	live := map[phonebooth.AttemptKey]phonebooth.Attempt{}
	for _, t := range r.tasks {
		if t.Status == phonebooth.Queued {
			queued++
		}
		r.checkTask(t, fault)
		for _, a := range r.attempts[t.ID] {
			if a.Live() {
				live[a.AttemptKey] = a
			}
		}
	}
	if queued != r.head.Queued {
		fault("the head counts %d queued tasks, there are %d", r.head.Queued, queued)
	}
	r.checkReservations(live, fault)
	r.checkEvents(fault)
	return faults
}

func (r record) checkTask(t phonebooth.Task, fault func(string, ...any)) {
	attempts := r.attempts[t.ID]
	if len(attempts) != t.Attempt || t.Attempt > t.MaxAttempts {
		fault("task %s is at attempt %d of %d, and has %d attempts", t.ID, t.Attempt, t.MaxAttempts, len(attempts))
	}
	lives := 0
	for i, a := range attempts {
		if a.Number != i+1 {
			fault("task %s: attempt %d stands at place %d", t.ID, a.Number, i+1)
		}
		if a.Live() != (a.Ending == "") || a.Live() != a.EndedAt.IsZero() {
			fault("task %s attempt %d is %s, with ending %q at %v", t.ID, a.Number, a.State, a.Ending, a.EndedAt)
		}
		if !a.Live() {
			continue
		}
		lives++
		if a.Number != t.Attempt || a.DeviceID != t.DeviceID || a.HostID != t.HostID || string(a.State) != string(t.Status) {
			fault("task %s is %s at attempt %d on %s of %s, but attempt %d is %s on %s of %s",
				t.ID, t.Status, t.Attempt, t.DeviceID, t.HostID, a.Number, a.State, a.DeviceID, a.HostID)
		}
	}
	if want := map[bool]int{true: 1, false: 0}[t.Status.Active()]; lives != want {
		fault("task %s is %s and has %d live attempts", t.ID, t.Status, lives)
	}
	if t.Status.Terminal() == t.FinishedAt.IsZero() {
		fault("task %s is %s and finished at %v", t.ID, t.Status, t.FinishedAt)
	}
}

func (r record) checkReservations(live map[phonebooth.AttemptKey]phonebooth.Attempt, fault func(string, ...any)) {
	reserved := map[phonebooth.AttemptKey]bool{}
	for _, v := range r.reservations {
		reserved[v.Attempt] = true
		if a, ok := live[v.Attempt]; !ok || a.DeviceID != v.DeviceID {
			fault("device %s is reserved for %s attempt %d, which does not hold it", v.DeviceID, v.Attempt.TaskID, v.Attempt.Number)
		}
	}
	for k, a := range live {
		if !reserved[k] {
			fault("task %s attempt %d is %s on %s, which is not reserved for it", k.TaskID, k.Number, a.State, a.DeviceID)
		}
	}
}

// checkEvents knows that pruning takes the oldest ones: what happened before the first that is left is not asked for.
func (r record) checkEvents(fault func(string, ...any)) {
	first := r.head.Pos + 1
	if len(r.events) > 0 {
		first = r.events[0].Pos
	}
	submissions, endings := map[phonebooth.TaskID][]int64{}, map[phonebooth.TaskID][]phonebooth.EventKind{}
	for i, e := range r.events {
		if e.Pos != first+int64(i) {
			fault("position %d follows %d", e.Pos, first+int64(i)-1)
		}
		switch e.Kind {
		case phonebooth.TaskSubmitted:
			submissions[e.TaskID] = append(submissions[e.TaskID], e.Pos)
		case phonebooth.TaskDone, phonebooth.TaskFailed, phonebooth.TaskCancelled:
			endings[e.TaskID] = append(endings[e.TaskID], e.Kind)
		}
	}
	if n := first + int64(len(r.events)) - 1; n != r.head.Pos {
		fault("the head is at position %d, the newest event at %d", r.head.Pos, n)
	}
	for _, t := range r.tasks {
		if s := submissions[t.ID]; t.Seq >= first && (len(s) != 1 || s[0] != t.Seq) {
			fault("task %s has seq %d and was submitted at %v", t.ID, t.Seq, s)
		}
		if t.Seq < 1 || t.Seq > r.head.Pos {
			fault("task %s has seq %d, the head is at position %d", t.ID, t.Seq, r.head.Pos)
		}
		ends := endings[t.ID]
		if t.Status.Terminal() && first == 1 && (len(ends) != 1 || ends[0] != phonebooth.EventKind("task."+string(t.Status))) {
			fault("task %s is %s and its events say that it ended as %v", t.ID, t.Status, ends)
		}
		if !t.Status.Terminal() && len(ends) > 0 || len(ends) > 1 {
			fault("task %s is %s and ended %v", t.ID, t.Status, ends)
		}
	}
}

func goodDatabase(t *testing.T, st store.Store) {
	CheckInvariants(t, st)
	pool(t, st)
	CheckInvariants(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, p)
	CheckInvariants(t, st)
	v := p.Tasks[0]
	v.Status, v.FinishedAt = phonebooth.Failed, after(time.Second)
	mustPut(t, st, lifecycle.Change{
		Tasks: []phonebooth.Task{v}, Attempts: []phonebooth.Attempt{ended(p.Attempts[0])}, Release: []phonebooth.DeviceID{"d1"},
		Events: []phonebooth.Event{{Kind: phonebooth.TaskFailed, TaskID: "t1"}},
	})
	CheckInvariants(t, st)
}
