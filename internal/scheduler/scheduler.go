package scheduler

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// Scheduler plans and asks for placements. Make one with [New].
type Scheduler struct {
	reader   Reader
	place    Place
	strategy strategy.Strategy
	name     string // of the strategy
	opts     Options

	feed    feed
	standby atomic.Bool
	calls   sync.WaitGroup
	answers chan answer

	loaded chan struct{} // closed when the index has been read from the store

	mu    sync.RWMutex // Run writes index under it; the reading methods read
	index *index

	unanswered int // calls that Idle waits for; of Run alone
	comparison *comparison
	compared   chan *store.Snapshot // nil: the store could not be read
}

// New is a scheduler whose plans are made by s, which is registered under name, and carried out by place.
func New(reader Reader, place Place, s strategy.Strategy, name string, opts Options) *Scheduler {
	made := &Scheduler{
		reader: reader, place: place, strategy: s, name: name, opts: opts.withDefaults(),
		feed: newFeed(), answers: make(chan answer), compared: make(chan *store.Snapshot), index: newIndex(s.Rank),
		loaded: make(chan struct{}),
	}
	made.standby.Store(opts.Standby)
	made.index.followed = opts.Followed
	return made
}

// SetLeading says whether this replica is the one that plans. It has its index either way, so that it can begin at once.
func (s *Scheduler) SetLeading(leads bool) {
	s.standby.Store(!leads)
	s.feed.poke()
}

// Apply hands over a committed change with the positions of its events, which stand side by side; our own in the order of
// commits. The change is only read, also later. Where a device is in both Release and Reserve, it was released first. Apply never blocks; changes that come
// before Run has read its snapshot are kept.
func (s *Scheduler) Apply(change lifecycle.Change) {
	if len(change.Hosts)+len(change.Devices)+len(change.Tasks)+len(change.Reserve)+len(change.Release)+len(change.Events) > 0 {
		s.feed.put(change)
	}
}

// Idle waits until everything that was applied has been looked at by a pass, and every placement that came of it has been
// answered. It is for tests: it takes the place of a pause.
func (s *Scheduler) Idle(ctx context.Context) error { return s.feed.waitStill(ctx) }

// Loaded is closed when Run has read the store.
func (s *Scheduler) Loaded() <-chan struct{} { return s.loaded }

// QueueDepth is how many tasks are queued.
func (s *Scheduler) QueueDepth() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.age.Len()
}

// OldestQueued is how long ago, at now, the task was submitted that has been queued for longest; 0 when none is queued.
func (s *Scheduler) OldestQueued(now time.Time) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.index.age.Min()
	if !ok {
		return 0
	}
	return max(0, now.Sub(time.UnixMicro(w.created)))
}

const tickEvery = time.Second

// Run reads the store, then follows the changes that are applied, until ctx ends; its error is then that of ctx. When it
// returns, nothing that it started is running.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.calls.Wait()
	defer cancel()
	if !s.start(ctx) {
		return ctx.Err()
	}
	compare := time.NewTicker(s.opts.CompareEvery)
	defer compare.Stop()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.opts.Tick()
		s.follow(ctx)
		s.compare(ctx, false)
		s.pass(ctx)
		if s.unanswered == 0 {
			s.feed.rest()
		}
		select {
		case <-ctx.Done():
		case <-s.feed.signal:
		case a := <-s.answers:
			s.settle(ctx, a)
		case <-tick.C:
		case <-compare.C:
			s.beginComparison(ctx, true)
		case snapshot := <-s.compared:
			s.gotSnapshot(ctx, snapshot)
		case <-s.overdue():
			s.compare(ctx, true)
		}
	}
	return ctx.Err()
}

// start takes over a snapshot, however long the store is away; false when ctx has ended.
func (s *Scheduler) start(ctx context.Context) bool {
	for {
		snapshot, err := s.reader.Snapshot(ctx)
		if err == nil {
			s.mu.Lock()
			s.index.load(snapshot)
			s.mu.Unlock()
			close(s.loaded)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.opts.Log.Warn("the queue cannot be read", "error", err)
		if !wait(ctx, s.opts.RetryAfter) {
			return false
		}
	}
}

// follow brings the index up to what was applied.
func (s *Scheduler) follow(ctx context.Context) {
	changes := s.feed.take()
	if len(changes) == 0 {
		return
	}
	whole := true
	var unsure []planned
	s.mu.Lock()
	for _, c := range changes {
		whole = s.index.apply(c) && whole
	}
	for _, w := range s.index.unsure {
		if w.queued && !w.busy {
			s.index.setBusy(w, true)
			unsure = append(unsure, planned{Placement: lifecycle.Placement{TaskID: w.id}, task: w, rev: w.rev})
		}
	}
	s.index.unsure = nil
	s.mu.Unlock()
	if len(unsure) > 0 {
		s.lookAgain(ctx, unsure, 0, true)
	}
	if !whole && !s.opts.Followed {
		s.beginComparison(ctx, false)
	}
}
