// Package leader has one of several replicas schedule and sweep: the one whose row in the database says so, in a term with an
// end by the database's clock.
//
//	l := leader.New(store, ledger, leader.Options{})
//	err := l.Run(ctx, func(ctx context.Context, term int64) { ... }) // the work of a leader, until its ctx ends
//
// Leadership is tidiness, not safety: placements and claims are decided on locked rows whoever asks for them, and what the
// sweep ends carries its term, so that an older one is refused. A leader trusts its row until a second before the row's end,
// gives it back when it stops, and also when its own work no longer calls [Leadership.Tick]: a replica that hangs must not
// keep the others from working. One that crashed is followed when its time is over.
//
// It decides nothing: package lifecycle does, in the ledger. Run is for one goroutine, Tick for any.
package leader

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Store is what the leadership reads of a database.
type Store interface {
	Leader(ctx context.Context) (lifecycle.Leader, error)
	Now(ctx context.Context) (time.Time, error)
}

// Ledger carries out its verbs.
type Ledger interface {
	Do(ctx context.Context, v ledger.Verb) error
}

// Options tune a Leadership; the zero value is production.
type Options struct {
	TTL    time.Duration // of the row, from each renewal on; 0: 15 s. The rest is in proportion to it
	Holder string        // names this life of this replica; "" draws a name
	// Alone says that nobody else can be at this database: what a process before this one held is taken over at once.
	Alone  bool
	Steady func() time.Duration // nil: the machine's boot clock
	// Observe is told whether this replica leads: after its first look, and of each change. May be nil.
	Observe func(leads bool)
	Log     *slog.Logger // nil: slog.Default
}

const (
	defaultTTL = 15 * time.Second
	recheck    = 250 * time.Millisecond // timers may oversleep while the machine is suspended
)

// Leadership is one replica's part in the election.
type Leadership struct {
	store  Store
	ledger Ledger
	opts   Options
	stands chan struct{} // closed when it is known for the first time whether this replica leads
	ticked atomic.Int64  // steady nanoseconds of the newest sign of life of the leader's work
}

// New is a replica that does not lead yet.
func New(st Store, l Ledger, opts Options) *Leadership {
	if opts.TTL == 0 {
		opts.TTL = defaultTTL
	}
	if opts.Holder == "" {
		opts.Holder = "replica_" + rand.Text()
	}
	if opts.Steady == nil {
		opts.Steady = boottime.Now
	}
	if opts.Observe == nil {
		opts.Observe = func(bool) {}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Leadership{store: st, ledger: l, opts: opts, stands: make(chan struct{})}
}

// Tick is the work's sign of life while it leads: at least one in each TTL.
func (l *Leadership) Tick() { l.ticked.Store(int64(l.opts.Steady())) }

// Standing is closed when Run has looked for the first time, and Observe was told whether this replica leads.
func (l *Leadership) Standing() <-chan struct{} { return l.stands }

// look is how often a replica that does not lead looks whether it could.
func (l *Leadership) look() time.Duration { return l.opts.TTL / 30 }

// renewEvery is how often the row's end is moved.
func (l *Leadership) renewEvery() time.Duration { return l.opts.TTL / 3 }

// margin is how long before the row's end it is not trusted any more.
func (l *Leadership) margin() time.Duration { return l.opts.TTL / 15 }

// Run stands for election until ctx ends. While this replica leads, work runs, with a context that ends with its time; there
// is never more than one of it.
func (l *Leadership) Run(ctx context.Context, work func(ctx context.Context, term int64)) error {
	for first := true; ctx.Err() == nil; first = false {
		pause := l.look()
		s, leads := l.stand(ctx)
		if first {
			l.opts.Observe(leads)
			close(l.stands)
		} else if leads {
			l.opts.Observe(true)
		}
		if leads && l.lead(ctx, s, work) == hangs {
			pause = l.opts.TTL // the others come first
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// seat is a term that is ours, until the steady time at which it is not trusted any more.
type seat struct {
	term    int64
	trusted time.Duration
}

// stand looks whether the seat is free, and takes it.
func (l *Leadership) stand(ctx context.Context) (seat, bool) {
	if !l.opts.Alone {
		row, err := l.store.Leader(ctx)
		if err != nil {
			return seat{}, false
		}
		if now, err := l.store.Now(ctx); err != nil || row.Holder != l.opts.Holder && now.Before(row.Until) {
			return seat{}, false
		}
	}
	s, err := l.take(ctx, l.opts.Alone)
	if err != nil && ctx.Err() == nil && !refused(err) {
		l.opts.Log.Warn("leadership could not be taken", "error", err)
	}
	return s, err == nil
}

// take takes or keeps the seat.
func (l *Leadership) take(ctx context.Context, alone bool) (seat, error) {
	sent := l.opts.Steady()
	var after lifecycle.Leader
	err := l.do(ctx, "lead", func(row lifecycle.Leader, now time.Time) (change lifecycle.Change, err error) {
		var leads bool
		if change, after, leads = lifecycle.Lead(row, l.opts.Holder, l.opts.TTL, alone, now); !leads {
			return change, phonebooth.Errorf(phonebooth.Conflict, "not_leader", "another replica leads")
		}
		return change, nil
	})
	if err != nil {
		return seat{}, err // and after is not ours to read: the verb may be committed yet
	}
	return seat{term: after.Term, trusted: sent + l.opts.TTL - l.margin()}, nil
}

func (l *Leadership) do(ctx context.Context, name string, decide func(lifecycle.Leader, time.Time) (lifecycle.Change, error)) error {
	return l.ledger.Do(ctx, ledger.Verb{
		Name: name, Actor: "leader",
		Keys: func(context.Context, store.Reader) (store.Keys, error) { return store.Keys{Leader: true}, nil },
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			return decide(v.Leader, v.Now)
		},
	})
}

func refused(err error) bool { return phonebooth.CodeOf(err) == "not_leader" }
