// Package retention is what keeps the bytes that attempts leave, logs and artifacts, from filling a disk: those of tasks that
// ended too long ago are removed, and when all of them together take too much, those of the tasks that ended first.
//
//	err := retention.New(store, blobs, retention.Options{Age: 14 * 24 * time.Hour, Bytes: 50 << 30}).Run(ctx)
//
// Every control plane runs its own, for its own directory: replicas share the tasks, not the bytes. The rows of tasks are the
// sweep's affair. Facts:
//
//  1. Nothing is taken from a task that has not ended, or so recently that its host may still send something.
//  2. What was removed leaves a note of when (blob.Expire), written before the first byte goes: killed in the middle, it is
//     finished by the next pass, and until then nobody takes what is left for all there was.
//  3. What lies there of tasks that the database does not have any more, and has not changed for as long as tasks are kept,
//     is removed without a note. So what the sweep's death, or another replica's sweep, has left behind goes too.
//  4. It remembers nothing from one pass to the next but how long one takes, and rests fifty times as long.
//
// Run is for one goroutine.
package retention

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// Store tells when tasks ended.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	// FinishedAt is when each task ended: the zero time of one that has not, and nothing of one that is not there.
	FinishedAt(ctx context.Context, ids []phonebooth.TaskID) (map[phonebooth.TaskID]time.Time, error)
}

// Blobs holds the bytes, by task: [blob.Store].
type Blobs interface {
	Holdings() iter.Seq2[blob.Holding, error]
	Expire(first string, at time.Time) error
	Remove(key string) error
}

// Options say how much is kept. The zero value keeps everything as long as the tasks.
type Options struct {
	Age   time.Duration // of what ended; 0: as long as the task is there
	Bytes int64         // of all together; 0: no limit
	Tasks time.Duration // how long ended tasks are kept; 0: 30 days
	Every time.Duration // from one pass to the next, at least; 0: a minute
	Log   *slog.Logger  // nil: none
}

const (
	// guard is how long after its end nothing is taken from a task: for longer than the control plane accepts its files.
	guard = 15 * time.Minute
	// batch is how many tasks are asked for at once.
	batch = 500
	// resting is how much longer than a pass the pause behind it is, at least.
	resting = 50
)

// Retention removes what is due.
type Retention struct {
	store Store
	blobs Blobs
	opts  Options
}

// New makes a Retention; [Retention.Run] starts it.
func New(st Store, blobs Blobs, opts Options) *Retention {
	if opts.Tasks == 0 {
		opts.Tasks = 30 * 24 * time.Hour
	}
	if opts.Every == 0 {
		opts.Every = time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Retention{store: st, blobs: blobs, opts: opts}
}

// Run makes pass after pass until ctx ends. A database that is away is waited for.
func (r *Retention) Run(ctx context.Context) error {
	for {
		began := time.Now()
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.opts.Log.Warn("retention could not look", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(r.opts.Every, resting*time.Since(began))):
		}
	}
}

// kept is a task that has ended, and bytes.
type kept struct {
	first string
	ended time.Time
	bytes int64
}

// pass looks at everything once.
func (r *Retention) pass(ctx context.Context) error {
	now, err := r.store.Now(ctx)
	if err != nil {
		return err
	}
	p := &pass{Retention: r, now: now, wall: time.Now()}
	var some []blob.Holding
	var unread error // the first of them; what can be looked at goes as usual
	for h, err := range r.blobs.Holdings() {
		if err != nil {
			r.opts.Log.Warn("retention could not look at what a task has left", "task_id", h.First, "error", err)
			if unread == nil {
				unread = err
			}
			continue
		}
		if some = append(some, h); len(some) == batch {
			if err := p.take(ctx, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	if err := p.take(ctx, some); err != nil {
		return err
	}
	p.shrink(ctx)
	if p.removed > 0 {
		r.opts.Log.Info("bytes of ended tasks removed", "tasks", p.removed, "bytes", p.bytes)
	}
	return unread
}

// pass is what one look has seen and done.
type pass struct {
	*Retention
	now     time.Time // by the store's clock, which ends tasks
	wall    time.Time // by the clock of the files
	left    []kept    // that may go to make room
	total   int64
	removed int
	bytes   int64
}

// take decides on some of what lies there.
func (p *pass) take(ctx context.Context, some []blob.Holding) error {
	ids := make([]phonebooth.TaskID, 0, len(some))
	for _, h := range some {
		ids = append(ids, phonebooth.TaskID(h.First))
	}
	ended, err := p.store.FinishedAt(ctx, ids)
	if err != nil {
		return err
	}
	for _, h := range some {
		at, known := ended[phonebooth.TaskID(h.First)]
		one := kept{first: h.First, ended: at, bytes: h.Bytes}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !known && p.wall.Sub(h.Modified) > p.opts.Tasks:
			p.note(one, p.blobs.Remove(h.First))
		case h.Expired && h.Bytes > 0:
			p.note(one, p.blobs.Expire(h.First, p.now))
		case !known, at.IsZero(), p.now.Sub(at) < guard:
			p.total += h.Bytes
		case p.opts.Age > 0 && p.now.Sub(at) >= p.opts.Age:
			p.note(one, p.blobs.Expire(h.First, p.now))
		default:
			p.total += h.Bytes
			p.left = append(p.left, one)
		}
	}
	return nil
}

// shrink makes room, from the task that ended first on.
func (p *pass) shrink(ctx context.Context) {
	if p.opts.Bytes == 0 || p.total <= p.opts.Bytes {
		return
	}
	slices.SortFunc(p.left, func(a, b kept) int { return a.ended.Compare(b.ended) })
	for _, one := range p.left {
		if p.total <= p.opts.Bytes || ctx.Err() != nil {
			return
		}
		if one.bytes > 0 && p.note(one, p.blobs.Expire(one.first, p.now)) {
			p.total -= one.bytes
		}
	}
	if p.total > p.opts.Bytes {
		p.opts.Log.Warn("tasks that run, or have just ended, take more than all may", "bytes", p.total, "limit", p.opts.Bytes)
	}
}

// note tells of a removal, and whether it was one.
func (p *pass) note(one kept, err error) bool {
	if err != nil {
		p.opts.Log.Warn("retention could not remove bytes", "task_id", one.first, "error", err)
		return false
	}
	if one.bytes > 0 {
		p.removed, p.bytes = p.removed+1, p.bytes+one.bytes
	}
	return true
}
