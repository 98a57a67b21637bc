// Package ledger is the only way in which the state of the control plane changes: load, decide, apply, in group commits.
//
//	l := ledger.New(store, ledger.Options{})
//	go l.Run(ctx)
//	err := l.Do(ctx, ledger.Verb{Name: "cancel", Keys: ..., Decide: ...})
//
// A [Verb] names the rows it needs and decides, purely, what becomes of them; package lifecycle holds the decisions, this
// package holds none. What a caller may count on:
//
//  1. A lone verb on an idle ledger is committed at once. Whatever arrives during a commit is the next batch.
//  2. A batch is one transaction, with one heavy verb in it at most. Its rows are locked table by table in one order, then the time is read, then verbs are
//     decided in the order of their arrival, each on rows as the ones before it left them.
//  3. Events get positions without gaps, in the order of commits.
//  4. The answer comes after COMMIT. An error is the verb's own, and nothing of that verb is written.
//  5. A verb that hits a constraint does not harm its neighbours. A transaction that meets another one is decided anew.
//  6. When the connection breaks at COMMIT every verb of the batch gets outcome_unknown, and every verb is written so that
//     repeating it is right.
//
// A Ledger may be used by any number of goroutines.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Verb is one change of state.
type Verb struct {
	Name             string // for the log
	Actor, RequestID string // stamped on its events
	NeedsHead        bool   // Decide looks at View.Head; the verb takes room that is refused when the disk is nearly full
	Heavy            bool   // it writes many rows: there is one of them in a batch at most, and others overtake those that wait

	// Keys finds the rows that the verb needs by reads without locks. It may be called again when rows have moved.
	Keys func(ctx context.Context, r store.Reader) (store.Keys, error)
	// Decide is pure and may be called several times. An error is the verb's answer. [ErrMoved] says that the rows are not
	// the right ones any more: the keys are found again.
	Decide func(v View) (lifecycle.Change, error)
}

// View is what a verb decides on. It is read only.
type View struct {
	*store.Rows            // locked rows, as the earlier verbs of the batch left them
	Head        store.Head // for verbs that need it, else zero
	Now         time.Time
}

// Commit is what one transaction changed.
type Commit struct {
	lifecycle.Change // the last state of each row; all events, with positions
	Now              time.Time
}

// ErrMoved is what Decide returns when its keys are stale.
var ErrMoved = errors.New("the rows have moved")

// Options tune a Ledger; the zero value is production.
type Options struct {
	MaxBatch     int                             // verbs in one transaction; 0: 256
	FreeSpace    func() bool                     // false: the disk is nearly full, verbs that need the head are refused; nil: never
	ObserveBatch func(n int, took time.Duration) // told of each committed batch; may be nil
	Log          *slog.Logger                    // nil: slog.Default
}

const (
	defaultMaxBatch = 256
	maxMoves        = 3
	maxConflicts    = 5
	commitTimeout   = 30 * time.Second
)

// Ledger commits verbs.
type Ledger struct {
	store       store.Store
	opts        Options
	subscribers []func(Commit)

	mu      sync.Mutex
	pending []*entry
	heavy   []*entry // those that wait for a batch of their own
	closed  bool
	wake    chan struct{} // holds one token while something is pending
	moves   sync.WaitGroup
}

// entry is a verb that waits for its answer.
type entry struct {
	ctx   context.Context
	verb  Verb
	keys  store.Keys
	moves int
	done  chan error // buffered
}

// New makes a ledger; [Ledger.Run] makes it work.
func New(st store.Store, opts Options) *Ledger {
	if opts.MaxBatch == 0 {
		opts.MaxBatch = defaultMaxBatch
	}
	if opts.FreeSpace == nil {
		opts.FreeSpace = func() bool { return true }
	}
	if opts.ObserveBatch == nil {
		opts.ObserveBatch = func(int, time.Duration) {}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Ledger{store: st, opts: opts, wake: make(chan struct{}, 1)}
}

// Subscribe has fn called with every commit, in order, right after COMMIT and before the answers. It must not block. Call it
// before Run.
func (l *Ledger) Subscribe(fn func(Commit)) { l.subscribers = append(l.subscribers, fn) }

// Do commits one verb. When ctx ends first its error is returned, and the verb may still be committed: then nothing that
// Decide writes may be looked at.
func (l *Ledger) Do(ctx context.Context, v Verb) error {
	return l.DoAll(ctx, []Verb{v})[0]
}

// DoAll commits verbs that arrive together, in their order; the error at an index is that verb's answer.
func (l *Ledger) DoAll(ctx context.Context, verbs []Verb) []error {
	answers := make([]error, len(verbs))
	waiting := make([]*entry, len(verbs))
	var ready []*entry
	for i, v := range verbs {
		e := &entry{ctx: ctx, verb: v, done: make(chan error, 1)}
		if answers[i] = l.resolve(ctx, e); answers[i] == nil {
			waiting[i] = e
			ready = append(ready, e)
		}
	}
	l.enqueue(ready)
	for i, e := range waiting {
		if e == nil {
			continue
		}
		select {
		case answers[i] = <-e.done:
		case <-ctx.Done():
			answers[i] = ctx.Err()
			select {
			case answers[i] = <-e.done: // it was answered first
			default:
			}
		}
	}
	return answers
}

// resolve finds the keys of e.
func (l *Ledger) resolve(ctx context.Context, e *entry) (err error) {
	if e.verb.NeedsHead && !l.opts.FreeSpace() {
		return errFull()
	}
	e.keys, err = e.verb.Keys(ctx, l.store)
	return answer(err)
}

func (l *Ledger) enqueue(entries []*entry) {
	if len(entries) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		for _, e := range entries {
			e.done <- errStopped()
		}
		return
	}
	for _, e := range entries {
		if e.verb.Heavy {
			l.heavy = append(l.heavy, e)
		} else {
			l.pending = append(l.pending, e)
		}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take removes the next batch from what is pending: one heavy verb at most, behind the others.
func (l *Ledger) take() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.pending), l.opts.MaxBatch)
	batch := l.pending[:n:n]
	l.pending = l.pending[n:]
	if len(l.heavy) > 0 {
		batch = append(batch, l.heavy[0])
		l.heavy = l.heavy[1:]
	}
	if len(l.pending)+len(l.heavy) > 0 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return batch
}

// Run commits what arrives until ctx ends. The batch under way is finished; what waits behind it is refused as unavailable.
func (l *Ledger) Run(ctx context.Context) error {
	defer l.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		}
		if ctx.Err() != nil {
			return nil
		}
		batch := l.take()
		wanted := batch[:0:0]
		for _, e := range batch {
			if err := e.ctx.Err(); err != nil {
				e.done <- err
				continue
			}
			wanted = append(wanted, e)
		}
		if len(wanted) > 0 {
			l.commit(ctx, wanted)
		}
	}
}

func (l *Ledger) close() {
	l.mu.Lock()
	l.closed = true
	for _, e := range append(l.pending, l.heavy...) {
		e.done <- errStopped()
	}
	l.pending, l.heavy = nil, nil
	l.mu.Unlock()
	l.moves.Wait()
}

// again finds the keys of a verb whose rows have moved and puts it into a later batch. It is done beside the commit loop.
func (l *Ledger) again(e *entry) {
	if e.moves++; e.moves > maxMoves {
		e.done <- phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "too much changed at once; try again")
		return
	}
	l.moves.Go(func() {
		if err := l.resolve(e.ctx, e); err != nil {
			e.done <- err
			return
		}
		l.enqueue([]*entry{e})
	})
}
