package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// commit decides and writes a batch, and answers it. A batch that fails by what is in it is replayed verb by verb, so that
// the culprit alone is refused; also a lone verb gets this second chance, because the row that it collided with is seen now.
func (l *Ledger) commit(ctx context.Context, batch []*entry) {
	err := l.try(ctx, batch)
	if !culpable(err) {
		l.refuse(batch, err)
		return
	}
	for _, e := range batch {
		alone := []*entry{e}
		l.refuse(alone, l.try(ctx, alone))
	}
}

// culpable reports whether a transaction failed by what was in it, rather than by how the database is doing.
func culpable(err error) bool {
	if err == nil {
		return false
	}
	for _, passing := range []error{
		store.ErrConflict, store.ErrOutcomeUnknown, store.ErrUnavailable, store.ErrFull, context.DeadlineExceeded,
	} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return true
}

func (l *Ledger) refuse(batch []*entry, err error) {
	if err == nil {
		return
	}
	l.opts.Log.Warn("batch not committed", "verbs", len(batch), "first", batch[0].verb.Name, "error", err)
	err = answer(err)
	for _, e := range batch {
		e.done <- err
	}
}

// try writes a batch and answers it. With an error nobody has been answered.
func (l *Ledger) try(ctx context.Context, batch []*entry) error {
	began := time.Now()
	commit, results, err := l.attempt(ctx, batch)
	if err != nil {
		return err
	}
	if !commit.Empty() {
		for _, subscriber := range l.subscribers {
			subscriber(commit)
		}
	}
	l.opts.ObserveBatch(len(batch), time.Since(began))
	for i, e := range batch {
		if errors.Is(results[i], ErrMoved) {
			l.again(e)
			continue
		}
		e.done <- results[i]
	}
	return nil
}

// attempt writes a batch in one transaction, anew when it met another one.
func (l *Ledger) attempt(ctx context.Context, batch []*entry) (commit Commit, results []error, err error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer stop()
	for n := range maxConflicts {
		if n > 0 {
			pause := time.NewTimer(time.Duration(rand.Int64N(int64(10*time.Millisecond) << n)))
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
		}
		err = l.store.Write(ctx, func(tx store.Tx) (err error) {
			commit, results, err = transact(ctx, tx, batch)
			return err
		})
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return commit, results, err
}

// transact loads, decides and saves.
func transact(ctx context.Context, tx store.Tx, batch []*entry) (Commit, []error, error) {
	rows, err := tx.Load(ctx, mergeKeys(batch))
	if err != nil {
		return Commit{}, nil, err
	}
	w := newWorking(rows)
	if needsHead(batch) {
		if err := w.lockHead(ctx, tx); err != nil {
			return Commit{}, nil, err
		}
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return Commit{}, nil, err
	}
	results := make([]error, len(batch))
	for i, e := range batch {
		view := View{Rows: rows, Now: now}
		if e.verb.NeedsHead {
			view.Head = w.head
			view.Head.Queued += w.queued
		}
		change, err := decide(e.verb, view)
		if results[i] = err; err == nil {
			w.apply(change, e.verb)
		}
	}
	commit, err := w.finish(ctx, tx, now)
	return commit, results, err
}

// decide calls the verb's decision; a panic is that verb's trouble alone.
func decide(v Verb, view View) (change lifecycle.Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = phonebooth.Errorf(phonebooth.Internal, "internal", "something went wrong on our side; the log has it").
				Because(fmt.Errorf("panic in %s: %v\n%s", v.Name, p, debug.Stack()))
		}
	}()
	return v.Decide(view)
}

func needsHead(batch []*entry) bool {
	for _, e := range batch {
		if e.verb.NeedsHead {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// answer turns an error of the store into a verb's answer; others pass as they are.
func answer(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrOutcomeUnknown):
		return phonebooth.Errorf(phonebooth.Unavailable, "outcome_unknown",
			"the connection to the database broke while committing; repeat the call to learn what became of it").Because(err)
	case errors.Is(err, store.ErrFull):
		return errFull().Because(err)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrConflict), errors.Is(err, context.DeadlineExceeded):
		return phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the database is not available; try again").Because(err)
	}
	return err
}

func errFull() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unavailable, "store_full", "the control plane's disk is nearly full; no new tasks until there is room")
}

func errStopped() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the control plane is stopping; try again")
}
