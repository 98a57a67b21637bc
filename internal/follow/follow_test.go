package follow_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/follow"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

var quiet = slog.New(slog.DiscardHandler)

// replica is a store, a ledger and a follower, as one process has them.
type replica struct {
	store  store.Store
	ledger *ledger.Ledger
	missed atomic.Int64

	mu      sync.Mutex
	commits []ledger.Commit // that were handed on
}

// deafness makes the listener hear nothing while it is set, as behind a pooler.
type deafness struct {
	store.Store
	deaf atomic.Bool
}

func (d *deafness) Listen(ctx context.Context, heard func(string)) error {
	return d.Store.Listen(ctx, func(from string) {
		if !d.deaf.Load() {
			heard(from)
		}
	})
}

func start(t *testing.T, dsn string, opts follow.Options) (*replica, *deafness) {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	r := &replica{store: st, ledger: ledger.New(st, ledger.Options{Log: quiet})}
	opts.Log, opts.ObserveMissed = quiet, func(n int) { r.missed.Add(int64(n)) }
	ears := &deafness{Store: st}
	f := follow.New(ears, func(c ledger.Commit) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.commits = append(r.commits, c)
	}, opts)
	r.ledger.Subscribe(f.Own)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = r.ledger.Run(ctx) })
	running.Go(func() { _ = f.Run(ctx) })
	<-f.Began()
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := st.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return r, ears
}

func (r *replica) submit(t *testing.T, id string) {
	t.Helper()
	err := r.ledger.Do(t.Context(), ledger.Verb{
		Name: "submit", NeedsHead: true,
		Keys: func(context.Context, store.Reader) (store.Keys, error) { return store.Keys{}, nil },
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			spec := phonebooth.TaskSpec{Goal: "x", Timeout: time.Minute, MaxAttempts: 1}
			return lifecycle.Submit(phonebooth.TaskID(id), spec, phonebooth.Submission{}, v.Head.Queued, 1_000_000, v.Now)
		},
	})
	if err != nil {
		t.Errorf("submit %s: %v", id, err)
	}
}

// heard are the tasks that were handed on, with how often.
func (r *replica) heard() map[phonebooth.TaskID]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[phonebooth.TaskID]int{}
	for _, c := range r.commits {
		for _, t := range c.Tasks {
			got[t.ID]++
		}
	}
	return got
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%s does not come", what)
		}
	}
}

// Both write at once; each is told of all the other's commits, and of its own by its ledger alone.
func TestEachReplicaHearsOfTheOthersCommits(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, _ := start(t, dsn, follow.Options{PollEvery: time.Hour}) // only what is announced arrives
	b, _ := start(t, dsn, follow.Options{PollEvery: time.Hour})
	const each = 200
	var work sync.WaitGroup
	for name, r := range map[string]*replica{"a": a, "b": b} {
		for lane := range 4 {
			work.Go(func() {
				for i := range each / 4 {
					r.submit(t, fmt.Sprintf("%s-%d-%d", name, lane, i))
				}
			})
		}
	}
	work.Wait()
	for name, c := range map[string]struct{ to, of *replica }{"a": {b, a}, "b": {a, b}} {
		for lane := range 4 {
			for i := range each / 4 {
				id := phonebooth.TaskID(fmt.Sprintf("%s-%d-%d", name, lane, i))
				eventually(t, string(id), func() bool { return c.to.heard()[id] > 0 })
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var positions []int64
	for _, c := range a.commits {
		for i, e := range c.Events {
			if i > 0 && e.Pos != c.Events[i-1].Pos+1 {
				t.Errorf("events of one commit are at %d and %d", c.Events[i-1].Pos, e.Pos)
			}
			positions = append(positions, e.Pos)
		}
	}
	if !slices.IsSorted(positions) || len(slices.Compact(positions)) != len(positions) {
		t.Errorf("positions came out of order or twice: %v", positions)
	}
}

func TestWhatNobodyAnnouncedIsFoundAndCounted(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, ears := start(t, dsn, follow.Options{PollEvery: 50 * time.Millisecond})
	b, _ := start(t, dsn, follow.Options{})
	b.submit(t, "announced")
	eventually(t, "what was announced", func() bool { return a.heard()["announced"] > 0 })
	ears.deaf.Store(true)
	b.submit(t, "lost")
	eventually(t, "what was lost", func() bool { return a.heard()["lost"] > 0 })
	eventually(t, "its count", func() bool { return a.missed.Load() >= 1 })
}

// The database ends the listener's connection, as a failover does. The listener comes back, and looks.
func TestAListenerThatWasCutOffComesBack(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	a, _ := start(t, db.DSN(), follow.Options{PollEvery: time.Hour})
	b, _ := start(t, db.DSN(), follow.Options{PollEvery: time.Hour})
	b.submit(t, "before")
	eventually(t, "what was before", func() bool { return a.heard()["before"] > 0 })
	db.Stop()
	db.Restart()
	eventually(t, "the database", func() bool { _, err := b.store.Now(t.Context()); return err == nil })
	b.submit(t, "after")
	eventually(t, "what was after", func() bool { return a.heard()["after"] > 0 })
}
