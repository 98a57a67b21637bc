package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// clean takes the hands of a lease off its device, after its run and beside its report. It tries until it has worked (C12):
// meanwhile the device is unhealthy. When the agent stops before that, the journal keeps the entry for its next life.
func (a *Agent) clean(life context.Context, l *lease) {
	if !l.touched { // the device may be the next lease's already
		l.settled(a, func() { l.clean = true })
		return
	}
	a.pool.handle(l.key(), func(h *lifecycle.Hands) { h.Cleaning = true })
	pause := a.timing.of30(time.Second)
	for {
		err := a.cleanOnce(life, l)
		if err == nil {
			break
		}
		a.log.Error("device cannot be cleaned", append(l.task(), "err", err)...)
		longest := a.timing.of30(5 * time.Minute)
		if errors.Is(err, errHeld) {
			longest = a.timing.heartbeat
		}
		a.pool.setTrouble(l.key(), trouble(err))
		if !a.wait(pause) {
			return
		}
		pause = min(2*pause, longest)
	}
	if l.lock != nil {
		if err := l.lock.release(); err != nil {
			a.log.Error("device lock", append(l.task(), "err", err)...)
		}
	}
	a.pool.setTrouble(l.key(), "")
	a.pool.handle(l.key(), cleared)
	l.settled(a, func() { l.clean = true })
}

// trouble says for people why a device cannot be put in order.
func trouble(err error) string {
	unfit, ok := errors.AsType[bridge.Unfit](err)
	switch {
	case errors.Is(err, errHeld):
		return othersHands
	case ok:
		return string(unfit) + "; the host tries again"
	}
	return "it could not be put in order after an attempt; the host tries again"
}

// cleanOnce closes the access, kills whatever still bears the lease's cookie, looks whether anything else is in the way, and
// then runs the host's own hooks.
func (a *Agent) cleanOnce(life context.Context, l *lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), closeLimit)
	defer cancel()
	var errs []error
	if access := l.reach(); access != nil {
		if err := access.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close the access: %w", err))
		}
	}
	if l.ran {
		if _, err := minder.Sweep(ctx, l.cookie); err != nil {
			errs = append(errs, err)
		}
	}
	if slices.ContainsFunc(l.strays, minder.Record.Alive) {
		errs = append(errs, minder.ErrLeft)
	}
	if l.barred != nil {
		errs = append(errs, l.barred())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return a.runHooks(life, l)
}

// settled notes that a part of a lease's end is done. When its outcome is kept and the device is clean, the journal needs
// its entry no more.
func (l *lease) settled(a *Agent, note func()) {
	l.mu.Lock()
	note()
	over := l.spooled && l.clean
	l.mu.Unlock()
	if !over || !l.journaled {
		return
	}
	if err := a.journal.Remove(l.LeaseID); err != nil {
		a.log.Error("cannot remove a journal entry", append(l.task(), "err", err)...)
	}
}
