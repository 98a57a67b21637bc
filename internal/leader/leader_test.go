package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth/internal/leader"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 15 * time.Second

var errAway = errors.New("the database is away")

// database is the leader's row, for several replicas.
type database struct {
	mu  sync.Mutex
	row lifecycle.Leader
}

// connection is one replica's way to the database. It can be cut.
type connection struct {
	db   *database
	mu   sync.Mutex
	away bool
}

func (c *connection) cut(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *connection) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return errAway
	}
	return nil
}

func (c *connection) Now(context.Context) (time.Time, error) { return time.Now(), c.err() }

func (c *connection) Leader(context.Context) (lifecycle.Leader, error) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	return c.db.row, c.err()
}

func (c *connection) Do(_ context.Context, v ledger.Verb) error {
	if err := c.err(); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	rows := store.NewRows()
	rows.Leader = c.db.row
	change, err := v.Decide(ledger.View{Rows: rows, Now: time.Now()})
	if change.Leader != nil {
		c.db.row = *change.Leader
	}
	return err
}

// replica is one that stands for election, and what became of it.
type replica struct {
	*leader.Leadership
	*connection
	name  string
	stop  context.CancelFunc
	ended chan struct{}
	hang  chan struct{} // closed: its work ticks no more
}

// world is replicas on one database in a bubble of time.
type world struct {
	t       *testing.T
	db      *database
	mu      sync.Mutex
	leading map[string]int64
	log     []string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, db: &database{}, leading: map[string]int64{}}
}

// leaderAndOther are two replicas of which a leads.
func leaderAndOther(t *testing.T) (w *world, a, b *replica) {
	w = newWorld(t)
	a = w.start("a")
	w.until("a")
	return w, a, w.start("b")
}

// end stops replicas, one after the other.
func end(replicas ...*replica) {
	for _, r := range replicas {
		r.stop()
		<-r.ended
	}
}

func (w *world) start(name string) *replica {
	ctx, stop := context.WithCancel(w.t.Context())
	r := &replica{connection: &connection{db: w.db}, name: name, stop: stop, ended: make(chan struct{}), hang: make(chan struct{})}
	start := time.Now()
	r.Leadership = leader.New(r, r, leader.Options{
		Holder: name, Steady: func() time.Duration { return time.Since(start) }, Log: slog.New(slog.DiscardHandler),
	})
	go func() {
		defer close(r.ended)
		if err := r.Run(ctx, func(ctx context.Context, term int64) { w.work(ctx, r, term) }); err != nil {
			w.t.Errorf("run %s: %v", name, err)
		}
	}()
	return r
}

// work is what a leader does: it ticks, and nobody else does at the same time.
func (w *world) work(ctx context.Context, r *replica, term int64) {
	w.mu.Lock()
	for other := range w.leading {
		w.t.Errorf("%s leads while %s does", r.name, other)
	}
	w.leading[r.name] = term
	w.log = append(w.log, fmt.Sprintf("%s in term %d", r.name, term))
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.leading, r.name)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	hang := r.hang
	for {
		select {
		case <-ctx.Done():
			return
		case <-hang:
			tick.Stop()
			hang = nil
		case <-tick.C:
			r.Tick()
		}
	}
}

// leader is who leads, "" for nobody.
func (w *world) leader() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.leading {
		return name
	}
	return ""
}

// until waits until want leads, and says how long that took.
func (w *world) until(want string) time.Duration {
	w.t.Helper()
	since := time.Now()
	for w.leader() != want {
		if time.Sleep(50 * time.Millisecond); time.Since(since) > time.Hour {
			w.t.Fatalf("%q does not lead; %q does", want, w.leader())
		}
	}
	return time.Since(since)
}

func TestAReplicaThatStopsIsFollowedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := leaderAndOther(t)
		time.Sleep(10 * time.Minute)
		if got := w.leader(); got != "a" {
			t.Errorf("after ten minutes %q leads, want a", got)
		}
		end(a)
		if took := w.until("b"); took > time.Second {
			t.Errorf("b leads %v after a stopped", took)
		}
		end(b)
	})
}

func TestAReplicaThatCrashesIsFollowedWithinTwentySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := leaderAndOther(t)
		time.Sleep(ttl/3 - time.Millisecond)
		a.cut(true) // it can neither renew nor give back
		if took := w.until("b"); took > 20*time.Second {
			t.Errorf("b leads %v after a was cut off", took)
		}
		a.cut(false)
		time.Sleep(time.Minute)
		if got := w.leader(); got != "b" {
			t.Errorf("%q leads after a came back, want b", got)
		}
		end(b, a)
		if len(w.log) != 2 {
			t.Errorf("who led: %v", w.log)
		}
	})
}

// A work that hangs gives the seat to another replica; its own waits for it, so that no two run here.
func TestAReplicaWhoseWorkHangsIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := leaderAndOther(t)
		close(a.hang)
		if took := w.until("b"); took > ttl+2*time.Second {
			t.Errorf("b leads %v after the work of a hung", took)
		}
		end(b, a)
	})
}

func TestAShortAbsenceOfTheDatabaseCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := leaderAndOther(t)
		for range 20 {
			a.cut(true)
			b.cut(true)
			time.Sleep(8 * time.Second)
			a.cut(false)
			b.cut(false)
			time.Sleep(time.Second)
		}
		if got := w.leader(); got != "a" || len(w.log) != 1 {
			t.Errorf("%q leads, after %v", got, w.log)
		}
		end(b, a)
	})
}
