// Package sweep is what makes things end by time alone: leases that ran out, claim windows, queue timeouts, hosts that fell
// silent or deaf, and tasks past their retention. It finds what may be due and asks the ledger, which decides again on locked
// rows with package lifecycle; so two sweeps at once do no harm, and one whose term as the leader is over is refused.
//
//	err := sweep.New(store, ledger, blobs, policy, sweep.Options{}).Run(ctx, term)
//
// After a start, after the store was away for half a lease, and after a leap of its clock, the sweep holds back for a lease
// and a grace: results, give-backs and renewals arrive under their own leases first, and assigned attempts get a new claim
// window (design, section 5).
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Store is what the sweep asks of a database.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	Due(ctx context.Context, at store.DueTimes, limit int) (store.Due, error)
	Prune(ctx context.Context, before time.Time, limit int) ([]phonebooth.TaskID, error)
}

// Ledger carries out the sweep's verbs.
type Ledger interface {
	DoAll(ctx context.Context, verbs []ledger.Verb) []error
}

// Logs loses the bytes of tasks that are gone.
type Logs interface {
	Remove(key string) error
}

// Options tune a Sweep; the zero value is production.
type Options struct {
	Retention time.Duration        // how long ended tasks are kept; 0: 30 days
	Steady    func() time.Duration // nil: the machine's boot clock
	// ObserveLost is told of each lease that was taken. May be nil.
	ObserveLost func(reason string)
	Log         *slog.Logger // nil: slog.Default
}

const (
	defaultRetention = 30 * 24 * time.Hour
	pruneEvery       = time.Minute
	dueLimit         = 500 // of each kind in one turn
	pruneLimit       = 200 // tasks in one transaction
	clockLeap        = time.Second
)

// Sweep ends what is due.
type Sweep struct {
	store  Store
	ledger Ledger
	logs   Logs
	policy lifecycle.Policy
	opts   Options

	term        int64         // of the leader
	looked      time.Duration // steady time of the last look that succeeded
	lookedStore time.Time     // store time of that look
	heldUntil   time.Duration // dispatched leases and hosts are left alone until then
	pruned      time.Duration // steady time of the last prune
	owing       bool          // assigned attempts must get a new claim window first
	owingBefore time.Time     // those that expire before it; zero: all of them
}

// New makes a sweep; [Sweep.Run] starts it.
func New(st Store, l Ledger, logs Logs, policy lifecycle.Policy, opts Options) *Sweep {
	if opts.Retention == 0 {
		opts.Retention = defaultRetention
	}
	if opts.Steady == nil {
		opts.Steady = boottime.Now
	}
	if opts.ObserveLost == nil {
		opts.ObserveLost = func(string) {}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Sweep{store: st, ledger: l, logs: logs, policy: policy, opts: opts}
}

// Run sweeps in a leader's term until ctx ends. A database that is away is waited for.
func (s *Sweep) Run(ctx context.Context, term int64) error {
	s.term, s.lookedStore = term, time.Time{}
	tick := time.NewTicker(s.policy.TTL / 30)
	defer tick.Stop()
	s.hold("start")
	for {
		if err := s.turn(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.Warn("sweep could not look", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// turn looks once and ends what is due.
func (s *Sweep) turn(ctx context.Context) error {
	now, err := s.look(ctx)
	if err != nil {
		return err
	}
	if s.owing {
		return s.extendWindows(ctx, now)
	}
	at := store.DueTimes{Assigned: now, Queue: now}
	if s.opts.Steady() >= s.heldUntil {
		at.Dispatched = now.Add(-s.policy.Grace)
		at.Heard = now.Add(-s.policy.HostSilence)
		at.Polled = now.Add(-s.policy.HostPolling)
	}
	due, err := s.store.Due(ctx, at, dueLimit)
	if err != nil {
		return err
	}
	s.end(ctx, due)
	return s.prune(ctx, now)
}

// look reads the store's clock and notices absences and leaps.
func (s *Sweep) look(ctx context.Context) (time.Time, error) {
	now, err := s.store.Now(ctx)
	if err != nil {
		return now, err
	}
	steady := s.opts.Steady()
	if !s.lookedStore.IsZero() {
		passed := steady - s.looked
		leap := now.Sub(s.lookedStore) - passed
		switch {
		case passed >= s.policy.TTL/2:
			s.hold("absence")
		case leap > clockLeap || leap < -clockLeap:
			s.hold("clock leap")
		}
	}
	s.looked, s.lookedStore = steady, now
	return now, nil
}

// hold leaves dispatched leases alone for a lease and a grace, and owes assigned attempts a new claim window.
func (s *Sweep) hold(why string) {
	if s.opts.Steady() >= s.heldUntil {
		level := slog.LevelInfo
		if why == "start" { // nothing has gone wrong
			level = slog.LevelDebug
		}
		s.opts.Log.Log(context.Background(), level, "sweep holds back", "reason", why, "for", s.policy.TTL+s.policy.Grace)
	}
	s.heldUntil = s.opts.Steady() + s.policy.TTL + s.policy.Grace
	s.owing, s.owingBefore = true, time.Time{}
}

// extendWindows gives every assigned attempt a new claim window, in as many turns as it takes. One that it has given, or that
// was assigned since, is not asked for again.
func (s *Sweep) extendWindows(ctx context.Context, now time.Time) error {
	if s.owingBefore.IsZero() {
		s.owingBefore = now.Add(s.policy.ClaimWindow)
	}
	due, err := s.store.Due(ctx, store.DueTimes{Assigned: s.owingBefore.Add(-time.Microsecond)}, dueLimit)
	if err != nil {
		return err
	}
	verbs := make([]ledger.Verb, 0, len(due.Attempts))
	for _, a := range due.Attempts {
		verbs = append(verbs, s.onAttempt("extend_window", a, func(l lifecycle.Live, now time.Time) (lifecycle.Change, error) {
			return lifecycle.ExtendWindow(l, s.policy, now)
		}))
	}
	s.do(ctx, verbs)
	s.owing = s.owing && s.owingBefore.IsZero() || len(due.Attempts) == dueLimit
	return nil
}

// do has the ledger carry out verbs. Should the store refuse to write, it was away, though it could be read: then nobody could
// renew or report either.
func (s *Sweep) do(ctx context.Context, verbs []ledger.Verb) (errs []error) {
	errs = s.ledger.DoAll(ctx, verbs)
	var trouble error
	away, failed := false, 0
	for _, err := range errs {
		e, known := errors.AsType[*phonebooth.Error](err)
		if err == nil || known && e.Code == "not_due" || errors.Is(err, context.Canceled) { // somebody else was faster
			continue
		}
		trouble, failed = err, failed+1
		away = away || known && e.Kind == phonebooth.Unavailable
	}
	if failed > 0 {
		s.opts.Log.Warn("sweep could not end what was due", "verbs", failed, "error", trouble)
	}
	if away {
		s.hold("absence")
	}
	return errs
}

// end asks the ledger to end everything that is due.
func (s *Sweep) end(ctx context.Context, due store.Due) {
	var verbs []ledger.Verb
	for _, a := range due.Attempts {
		verbs = append(verbs, s.onAttempt("expire", a, func(l lifecycle.Live, now time.Time) (lifecycle.Change, error) {
			return lifecycle.Expire(l, s.policy, now)
		}))
	}
	for _, id := range due.Tasks {
		verbs = append(verbs, s.timeOutInQueue(id))
	}
	for _, id := range due.Silent {
		verbs = append(verbs, s.onHost("silence", id, func(h phonebooth.Host, now time.Time) (lifecycle.Change, error) {
			return lifecycle.Silence(h, s.policy, now)
		}))
	}
	for _, id := range due.Deaf {
		verbs = append(verbs, s.onHost("deafen", id, func(h phonebooth.Host, now time.Time) (lifecycle.Change, error) {
			return lifecycle.Deafen(h, "it has stopped asking for work", now.Add(-s.policy.HostPolling), now)
		}))
	}
	for i, err := range s.do(ctx, verbs) {
		if err == nil && i < len(due.Attempts) {
			s.opts.ObserveLost(string(due.Attempts[i].State) + "_expired")
		}
	}
}

// prune deletes what is past its retention, a little at a time.
func (s *Sweep) prune(ctx context.Context, now time.Time) error {
	if steady := s.opts.Steady(); s.pruned == 0 || steady-s.pruned >= pruneEvery {
		s.pruned = steady
		gone, err := s.store.Prune(ctx, now.Add(-s.opts.Retention), pruneLimit)
		if err != nil {
			return err
		}
		for _, id := range gone {
			if err := s.logs.Remove(string(id)); err != nil {
				s.opts.Log.Warn("sweep could not remove a log", "task_id", id, "error", err)
			}
		}
		if len(gone) == pruneLimit {
			s.pruned = steady - pruneEvery // there is more: go on in the next turn
		}
	}
	return nil
}
