package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func overviewOfNothing(t *testing.T, st store.Store) {
	same(t, "an empty database", must[store.Overview](t)(st.Overview(t.Context(), base, 5)), store.Overview{})
}

func overviewOfThePool(t *testing.T, st store.Store) {
	pool(t, st) // three queued tasks
	long := task("t9", 9)
	long.Goal, long.Workflow = strings.Repeat("é", store.BriefGoal+1), nil
	first, second := placed(long, device("d1", "h1")), placed(task("t2", 2), device("d2", "h1"))
	first.Tasks[0].CancelRequestedAt = after(time.Second)
	first.Attempts[0].State, first.Attempts[0].DispatchedAt = phonebooth.AttemptDispatched, after(time.Second)
	mustPut(t, st, first)
	mustPut(t, st, second)
	got := must[store.Overview](t)(st.Overview(t.Context(), base, 5))
	same(t, "hosts", got.Hosts, must[[]phonebooth.Host](t)(st.Hosts(t.Context())))
	same(t, "devices", got.Devices, must[[]phonebooth.Device](t)(st.Devices(t.Context())))
	head := must[store.Head](t)(st.Head(t.Context()))
	if got.Pos != head.Pos || got.Queued != head.Queued || got.Pos == 0 || got.Queued == 0 {
		t.Errorf("as of %d with %d queued, want %d with %d", got.Pos, got.Queued, head.Pos, head.Queued)
	}
	a, b := first.Attempts[0], second.Attempts[0]
	same(t, "running", got.Running, []store.Running{
		{
			AttemptKey: a.AttemptKey, DeviceID: "d1", State: a.State, AssignedAt: a.AssignedAt, DispatchedAt: a.DispatchedAt, ExpiresAt: a.ExpiresAt,
			CancelRequested: true, Brief: store.Brief{Goal: strings.Repeat("é", store.BriefGoal)},
		},
		{
			AttemptKey: b.AttemptKey, DeviceID: "d2", State: b.State, AssignedAt: b.AssignedAt, ExpiresAt: b.ExpiresAt,
			Brief: store.Brief{Goal: second.Tasks[0].Goal},
		},
	})
	mustPut(t, st, lifecycle.Change{Attempts: []phonebooth.Attempt{ended(b)}, Release: []phonebooth.DeviceID{"d2"}})
	if n := len(must[store.Overview](t)(st.Overview(t.Context(), base, 5)).Running); n != 1 {
		t.Errorf("%d are running when one has ended, want 1", n)
	}
}

func overviewOfThePast(t *testing.T, st store.Store) {
	minute := base.Truncate(time.Minute)
	var change lifecycle.Change
	for i, c := range []struct {
		status phonebooth.Status
		at     time.Time
	}{
		{phonebooth.Done, minute.Add(-time.Microsecond)},
		{phonebooth.Done, minute},
		{phonebooth.Failed, minute.Add(time.Minute - time.Microsecond)},
		{phonebooth.Done, minute.Add(59 * time.Second)},
		{phonebooth.Cancelled, minute.Add(3 * time.Minute)},
		{phonebooth.Failed, minute.Add(-48 * time.Hour)},
		{phonebooth.Failed, minute.Add(2 * time.Minute)},
	} {
		v := task(phonebooth.TaskID(fmt.Sprintf("t%d", i)), int64(i+1))
		v.Status, v.FinishedAt = c.status, c.at
		if c.status == phonebooth.Failed {
			v.Failure, v.DeviceID, v.Attempt = &phonebooth.Failure{Code: "c", Message: fmt.Sprint(i)}, "d", 2
		}
		change.Tasks = append(change.Tasks, v)
	}
	mustPut(t, st, change)
	got := must[store.Overview](t)(st.Overview(t.Context(), minute, 2))
	same(t, "minutes", got.Minutes, []store.Minute{
		{At: minute, Done: 2, Failed: 1}, {At: minute.Add(2 * time.Minute), Failed: 1}, {At: minute.Add(3 * time.Minute), Cancelled: 1},
	})
	same(t, "the last failures", got.Failures, []store.FailedTask{
		{
			ID: "t6", DeviceID: "d", Attempt: 2, Failure: phonebooth.Failure{Code: "c", Message: "6"}, FinishedAt: minute.Add(2 * time.Minute),
			Brief: store.Brief{Goal: change.Tasks[6].Goal},
		},
		{
			ID: "t2", DeviceID: "d", Attempt: 2, Failure: phonebooth.Failure{Code: "c", Message: "2"}, FinishedAt: minute.Add(time.Minute - time.Microsecond),
			Brief: store.Brief{Goal: change.Tasks[2].Goal},
		},
	})
}
