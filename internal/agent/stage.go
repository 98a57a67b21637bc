package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// journaled writes the attempt down before anything is done for it.
func (a *Agent) journaled(next stage) stage {
	return func(ctx context.Context, l *lease) phonebooth.Report {
		assignment, err := json.Marshal(l.Assignment)
		if err == nil {
			err = a.journal.Put(journal.Entry{
				LeaseID: l.LeaseID, TaskID: l.Task.ID, Attempt: l.Attempt, DeviceID: l.DeviceID,
				Assignment: assignment, Cookie: l.cookie, WorkDir: l.dir, Phase: phaseClaimed,
			})
		}
		if err != nil {
			a.noRoom("journal", err)
			return runner.GivenBack("try_again", "the host could not write the attempt down")
		}
		l.journaled = true
		return next(ctx, l)
	}
}

// The agent's words in the journal for how far an attempt had come.
const (
	phaseClaimed = "claimed"
	phaseRunning = "running"
)

// locked starts nothing under a lock that another process holds, whatever the control plane says.
func (a *Agent) locked(next stage) stage {
	return func(ctx context.Context, l *lease) phonebooth.Report {
		dir, name := a.lockOf(l.device)
		lock, err := lockDevice(dir, name)
		if err != nil {
			why := "the host cannot lock the device"
			if errors.Is(err, errHeld) {
				why = othersHands
			} else {
				a.noRoom("device lock", err)
			}
			l.touched, l.barred = true, func() error { return tryLock(dir, name) }
			a.pool.setTrouble(l.key(), why) // until it can be locked, other attempts would be given back as well
			return runner.GivenBack("try_again", why)
		}
		l.lock = lock
		return next(ctx, l)
	}
}

const othersHands = "another process on this machine has its hands on the device"

// openLimit bounds the opening of an access, and closeLimit its closing.
const (
	openLimit  = 30 * time.Second
	closeLimit = 30 * time.Second
)

// opened gives the lease access to its device, and cuts it as soon as the run has ended.
func (a *Agent) opened(next stage) stage {
	return func(ctx context.Context, l *lease) phonebooth.Report {
		if err := l.furnish(); err != nil {
			a.noRoom("working directory", err)
			return runner.GivenBack("try_again", "the host could not make the working directory")
		}
		l.touched = true
		a.pool.handle(l.key(), func(h *lifecycle.Hands) { h.Gate = true })
		passed := &deviceLog{path: devicePath(l.dir), mask: a.mask}
		defer passed.close()
		opening, cancel := context.WithTimeout(ctx, openLimit)
		defer cancel()
		access, err := a.bridges[l.device.bridge].Open(opening, l.device.seen.Key, bridge.Lease{
			MayDrive: func() bool { return l.mayDrive(a.now()) }, Log: passed, Env: []string{minder.CookieVar + "=" + l.cookie},
		})
		switch did := runner.DidOf(ctx); {
		case err == nil:
		case did != runner.Nothing:
			return did.Report()
		case errors.Is(err, bridge.ErrGone):
			return runner.GivenBack("device_lost", "the device was gone before anything was started")
		default:
			a.log.Error("device cannot be opened", append(l.task(), "err", err)...)
			return runner.GivenBack("try_again", "the device could not be opened")
		}
		l.opened(access)
		defer access.Cut()
		return next(ctx, l)
	}
}

// noRoom logs why something could not be written, and when that was for want of room asks for no more work.
func (a *Agent) noRoom(what string, err error) {
	a.log.Error("cannot write", "what", what, "err", err)
	if isFull(err) && a.pool.setFull(true) {
		a.log.Error("no room on the disk: no work is asked for until there is")
	}
}

func isFull(err error) bool {
	return errors.Is(err, diskmap.ErrFull) || errors.Is(err, errNoSpace) || errors.Is(err, errQuota)
}
