package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

var policy = lifecycle.NewPolicy(lifecycle.DefaultTTL)

// onBoth runs a test on an empty database of each sort.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Parallel()
	for _, database := range []struct {
		name string
		dsn  func(testing.TB) string
	}{
		{"SQLite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "phonebooth.db") }},
		{"PostgreSQL", postgrestest.DSN},
	} {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			test(t, database.dsn(t))
		})
	}
}

func open(t testing.TB, dsn string) store.Store {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return st
}

// start runs a ledger until the test ends, and then looks at what it left behind.
func start(t testing.TB, st store.Store, opts ledger.Options) *ledger.Ledger {
	t.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	l := ledger.New(st, opts)
	t.Cleanup(func() { storetest.CheckInvariants(t, st) })
	run(t, l)
	return l
}

func run(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Errorf("run the ledger: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// gate stands between a ledger and its store: a test can hold transactions up, fail them, and count them.
type gate struct {
	store.Store
	mu     sync.Mutex
	before func() error // called before each transaction; its error is the transaction's
	tried  int
	failed chan error // if not nil: told of each failed transaction
}

func (g *gate) Write(ctx context.Context, fn func(store.Tx) error) error {
	g.mu.Lock()
	g.tried++
	before := g.before
	g.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	err := g.Store.Write(ctx, fn)
	if err != nil && g.failed != nil {
		g.failed <- err
	}
	return err
}

func (g *gate) tries() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tried
}

func keys(k store.Keys) func(context.Context, store.Reader) (store.Keys, error) {
	return func(context.Context, store.Reader) (store.Keys, error) { return k, nil }
}

func spec() phonebooth.TaskSpec {
	return phonebooth.TaskSpec{Goal: "sleep 1", Timeout: time.Minute, MaxAttempts: 2}
}

// submit takes a task into a queue of at most depth. key is "" for none.
func submit(id phonebooth.TaskID, key string, depth int) ledger.Verb {
	named := store.IdempotencyKey{Subject: "admin", Key: key}
	return ledger.Verb{
		Name: "submit", Actor: "admin", RequestID: "req-" + string(id), NeedsHead: true,
		Keys: keys(store.Keys{Idempotency: []store.IdempotencyKey{named}}),
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			if _, known := v.Idempotency[named]; known && key != "" {
				return lifecycle.Change{}, nil
			}
			by := phonebooth.Submission{Subject: "admin", IdempotencyKey: key}
			return lifecycle.Submit(id, spec(), by, v.Head.Queued, depth, v.Now)
		},
	}
}

func cancelTask(id phonebooth.TaskID) ledger.Verb {
	return ledger.Verb{
		Name: "cancel", Actor: "admin", Keys: keys(store.Keys{Tasks: []phonebooth.TaskID{id}}),
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			t, ok := v.Tasks[id]
			if !ok {
				return lifecycle.Change{}, phonebooth.Errorf(phonebooth.NotFound, "task_unknown", "no such task")
			}
			return lifecycle.Cancel(t, v.Now)
		},
	}
}

// place binds a task to a device. blind makes it forget what it knows about reservations, as a bug would.
func place(task phonebooth.TaskID, d phonebooth.Device, blind bool) ledger.Verb {
	p := lifecycle.Placement{
		TaskID: task, DeviceID: d.ID, HostID: d.HostID, LeaseID: phonebooth.LeaseID("lease_" + string(task)), Strategy: "fifo_match",
	}
	return ledger.Verb{
		Name: "place", Actor: "scheduler",
		Keys: keys(store.Keys{
			Hosts: []phonebooth.HostID{d.HostID}, Devices: []phonebooth.DeviceID{d.ID}, Tasks: []phonebooth.TaskID{task},
		}),
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			r := v.Reservation(d.ID)
			if blind {
				r = nil
			}
			p.LeaseID = phonebooth.LeaseID(fmt.Sprintf("lease_%s_%d", task, v.Tasks[task].Attempt))
			return lifecycle.Place(p, v.Hosts[d.HostID], v.Devices[d.ID], r, v.Tasks[task], policy, v.Now)
		},
	}
}

// claim takes every assigned attempt of a host, or what the claim took before. got is filled before the answer.
func claim(host phonebooth.HostID, id string, got *[]phonebooth.AttemptKey) ledger.Verb {
	named := store.ClaimKey{HostID: host, ClaimID: id}
	return ledger.Verb{
		Name: "claim", Actor: "host:" + string(host),
		Keys: keys(store.Keys{Hosts: []phonebooth.HostID{host}, HostAttempts: []phonebooth.HostID{host}, Claims: []store.ClaimKey{named}}),
		Decide: func(v ledger.View) (all lifecycle.Change, err error) {
			*got = nil
			if spent := v.Claims[named]; len(spent) > 0 {
				*got = append(*got, spent...)
				return all, nil
			}
			for key, a := range v.Attempts {
				l, ok := v.Live(key)
				if !ok || a.HostID != host || a.State != phonebooth.AttemptAssigned {
					continue
				}
				c, err := lifecycle.Claim(l, host, id, l.Host.Incarnation, policy, v.Now)
				if err != nil {
					return all, err
				}
				*got = append(*got, key)
				all.Tasks, all.Attempts = append(all.Tasks, c.Tasks...), append(all.Attempts, c.Attempts...)
				all.Events = append(all.Events, c.Events...)
			}
			return all, nil
		},
	}
}

// report ends the only live attempt of a task.
func report(task phonebooth.TaskID, d phonebooth.Device, o phonebooth.Outcome) ledger.Verb {
	key := phonebooth.AttemptKey{TaskID: task, Number: 1}
	return ledger.Verb{
		Name: "report", Actor: "host:" + string(d.HostID),
		Keys: keys(store.Keys{
			Hosts: []phonebooth.HostID{d.HostID}, Devices: []phonebooth.DeviceID{d.ID}, Tasks: []phonebooth.TaskID{task},
			Attempts: []phonebooth.AttemptKey{key},
		}),
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			l, ok := v.Live(key)
			if !ok {
				return lifecycle.Change{}, errors.New("not loaded")
			}
			c, done, err := lifecycle.Finish(l, d.HostID, l.Host.Incarnation, phonebooth.Report{Outcome: o}, lifecycle.DeviceWord{}, policy, v.Now)
			if err == nil && done.Refusal != nil {
				return c, done.Refusal
			}
			return c, err
		},
	}
}

// addHost enrolls a host that listens, with n ready devices.
func addHost(t testing.TB, l *ledger.Ledger, id phonebooth.HostID, n int) []phonebooth.Device {
	t.Helper()
	var devices []phonebooth.Device
	must(t, l.Do(t.Context(), ledger.Verb{
		Name: "enroll", Actor: "admin", Keys: keys(store.Keys{Hosts: []phonebooth.HostID{id}}),
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			c := lifecycle.Enroll(id, string(id), "", v.Now)
			c.Hosts[0].DeafSince, c.Hosts[0].DeafReason = time.Time{}, ""
			devices = nil
			for i := range n {
				devices = append(devices, phonebooth.Device{
					ID: phonebooth.DeviceID(fmt.Sprintf("%s_d%d", id, i)), HostID: id, Key: fmt.Sprint(i), DriverType: "sim",
					Condition: phonebooth.Ready, Hold: phonebooth.NoHold, RegisteredAt: v.Now, Rev: 1,
				})
			}
			c.Devices = devices
			return c, nil
		},
	}))
	return devices
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
}

func mustAll(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("verb %d: got error %v, want none", i, err)
		}
	}
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if got := phonebooth.CodeOf(err); got != code {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, code)
	}
}

func taskOf(t testing.TB, st store.Store, id phonebooth.TaskID) phonebooth.Task {
	t.Helper()
	task, err := st.Task(t.Context(), id)
	must(t, err)
	return task
}

func allTasks(t testing.TB, st store.Store) []phonebooth.Task {
	t.Helper()
	page, err := st.Tasks(t.Context(), store.TaskFilter{})
	must(t, err)
	return page.Tasks
}

// eventually polls for what another program does.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
