package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func rowsComeBack(t *testing.T, st store.Store) {
	want := lifecycle.Change{
		Hosts: []phonebooth.Host{fullHost()}, Devices: []phonebooth.Device{fullDevice()},
		Tasks: []phonebooth.Task{fullTask()}, Attempts: []phonebooth.Attempt{fullAttempt()},
		Reserve: []phonebooth.Reservation{{DeviceID: "d1", Attempt: fullAttempt().AttemptKey, Since: after(time.Second)}},
		Workflows: []phonebooth.Workflow{{
			WorkflowRef: phonebooth.WorkflowRef{Name: "login", Version: 1}, Source: "steps:\n- goal: \"x\"\n", Hash: "h", CreatedAt: base,
		}},
		Events: []phonebooth.Event{{
			Kind: phonebooth.TaskFailed, TaskID: "t1", Attempt: 2, DeviceID: "d1", HostID: "h1", Actor: "host:rack", RequestID: "req",
			Labels: map[string]string{"team": "qa", `we"ird.key`: "a b"},
			Detail: phonebooth.EventDetail{
				Status: phonebooth.Failed, Code: "c", Message: "<m>", Condition: phonebooth.Ready, Hold: phonebooth.NoHold, Reason: "r",
				Name: "n", Version: 2, Strategy: "fifo_match", Outcome: phonebooth.OutcomeDone,
			},
		}},
	}
	mustPut(t, st, want)
	compareAll(t, st, want)

	h, d, v, a := fullHost(), fullDevice(), fullTask(), fullAttempt()
	h.Name, h.RemovedAt, h.Rev = "other", time.Time{}, 10
	d.Tags, d.Attributes, d.Streak, d.Rev = []string{"new"}, map[string]string{"a": "b"}, 0, 9
	v.Failure, v.Result, v.CancelRequestedAt, v.Status, v.FinishedAt = nil, nil, time.Time{}, phonebooth.Queued, time.Time{}
	a.Reported, a.Evidence, a.Reason = nil, nil, phonebooth.Failure{}
	changed := lifecycle.Change{
		Hosts: []phonebooth.Host{h}, Devices: []phonebooth.Device{d}, Tasks: []phonebooth.Task{v}, Attempts: []phonebooth.Attempt{a},
	}
	mustPut(t, st, changed)
	changed.Reserve, changed.Workflows, changed.Events = want.Reserve, want.Workflows, want.Events
	compareAll(t, st, changed)
}

func leastRowsComeBack(t *testing.T, st store.Store) {
	want := lifecycle.Change{
		Hosts: []phonebooth.Host{{ID: "h1"}}, Devices: []phonebooth.Device{{ID: "d1", HostID: "h1"}},
		Tasks:    []phonebooth.Task{{ID: "t1", Status: phonebooth.Queued}},
		Attempts: []phonebooth.Attempt{{AttemptKey: phonebooth.AttemptKey{TaskID: "t1", Number: 1}, State: phonebooth.AttemptEnded}},
		Events:   []phonebooth.Event{{Kind: phonebooth.HostEnrolled}},
	}
	mustPut(t, st, want)
	compareAll(t, st, want)
}

// compareAll compares what the readers give with a change that was written to an empty database.
func compareAll(t *testing.T, st store.Store, want lifecycle.Change) {
	t.Helper()
	ctx := t.Context()
	same(t, "hosts", must[[]phonebooth.Host](t)(st.Hosts(ctx)), want.Hosts)
	same(t, "devices", must[[]phonebooth.Device](t)(st.Devices(ctx)), want.Devices)
	same(t, "tasks", must[store.TaskPage](t)(st.Tasks(ctx, store.TaskFilter{})).Tasks, want.Tasks)
	same(t, "attempts", must[[]phonebooth.Attempt](t)(st.Attempts(ctx, "t1")), want.Attempts)
	same(t, "reservations", must[[]phonebooth.Reservation](t)(st.Reservations(ctx)), want.Reserve)
	same(t, "workflows", must[[]phonebooth.Workflow](t)(st.Workflows(ctx)), want.Workflows)
	same(t, "events", must[[]phonebooth.Event](t)(st.Events(ctx, store.EventFilter{})), want.Events)
	rows := load(t, st, keysOf(want))
	same(t, "loaded host", rows.Hosts["h1"], want.Hosts[0])
	same(t, "loaded device", rows.Devices["d1"], want.Devices[0])
	same(t, "loaded task", rows.Tasks["t1"], want.Tasks[0])
	same(t, "loaded attempt", rows.Attempts[want.Attempts[0].AttemptKey], want.Attempts[0])
	for _, r := range want.Reserve {
		same(t, "loaded reservation", rows.Reservations[r.DeviceID], r)
	}
}

func timesKeepMicroseconds(t *testing.T, st store.Store) {
	zone := time.FixedZone("east", 9*3600+1800)
	v := task("t1", 1)
	v.CreatedAt = time.Date(2026, 10, 25, 2, 30, 0, 987654321, zone)
	v.AssignedAt = time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC)
	v.DispatchedAt = time.Date(2262, 1, 1, 0, 0, 0, 999999999, zone)
	mustPut(t, st, lifecycle.Change{Tasks: []phonebooth.Task{v}})
	got := must[phonebooth.Task](t)(st.Task(t.Context(), "t1"))
	for _, c := range []struct{ got, written time.Time }{
		{got.CreatedAt, v.CreatedAt}, {got.AssignedAt, v.AssignedAt}, {got.DispatchedAt, v.DispatchedAt},
	} {
		if want := c.written.Truncate(time.Microsecond); !c.got.Equal(want) || c.got.Location() != time.UTC {
			t.Errorf("got %v, want %v in UTC", c.got, want)
		}
	}
	if !got.FinishedAt.IsZero() {
		t.Errorf("got %v for the zero time", got.FinishedAt)
	}
}

// timesCompare lets two attempts expire a microsecond apart, told in zones whose texts sort the other way round.
func timesCompare(t *testing.T, st store.Store) {
	pool(t, st)
	west, east := time.FixedZone("west", -11*3600), time.FixedZone("east", 12*3600)
	first := placed(task("t1", 1), device("d1", "h1"))
	first.Attempts[0].ExpiresAt = base.In(east)
	second := placed(task("t2", 2), device("d2", "h1"))
	second.Attempts[0].ExpiresAt = after(time.Microsecond).In(west)
	mustPut(t, st, first)
	mustPut(t, st, second)
	for _, c := range []struct {
		at   time.Time
		want int
	}{{after(-time.Microsecond), 0}, {base.In(west), 1}, {after(time.Microsecond).In(east), 2}} {
		due := must[store.Due](t)(st.Due(t.Context(), store.DueTimes{Assigned: c.at}, 10))
		if len(due.Attempts) != c.want {
			t.Errorf("at %v: %d attempts are due, want %d", c.at, len(due.Attempts), c.want)
		}
	}
}

func saveInserts(t *testing.T, st store.Store) {
	pool(t, st)
	err := st.Write(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Load(t.Context(), store.Keys{}); err != nil {
			return err
		}
		return tx.Save(t.Context(), lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}}, nil)
	})
	wantError(t, "a row that is there and was not loaded", err, store.ErrConstraint)
}

func errorRollsBack(t *testing.T, st store.Store) {
	refused := errors.New("refused")
	err := st.Write(t.Context(), func(tx store.Tx) error {
		if err := save(t.Context(), tx, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}}, base); err != nil {
			return err
		}
		return refused
	})
	if err != refused {
		t.Errorf("got error %v, want the one that was returned, as it is", err)
	}
	wantNoHost(t, st)
}

func panicRollsBack(t *testing.T, st store.Store) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = st.Write(t.Context(), func(tx store.Tx) error {
			if err := save(t.Context(), tx, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}}, base); err != nil {
				t.Errorf("write: %v", err)
			}
			panic("in the middle")
		})
	}()
	wantNoHost(t, st)
}

// wantNoHost also shows that the store still takes writes.
func wantNoHost(t *testing.T, st store.Store) {
	t.Helper()
	_, err := st.Host(t.Context(), "h1")
	wantError(t, "host after the rollback", err, store.ErrNotFound)
	mustPut(t, st, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}})
	same(t, "host", must[phonebooth.Host](t)(st.Host(t.Context(), "h1")), host("h1"))
}
