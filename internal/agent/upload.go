package agent

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

const (
	// logPause is how long to wait for more, and logGather for more beside what came last, so that a program that writes without
	// a pause is not sent line by line.
	logPause  = 100 * time.Millisecond
	logGather = 25 * time.Millisecond
	// cutLook is how often to see how large the file has grown.
	cutLook = 250 * time.Millisecond
	// logPatience is how long after the end of its attempt the control plane takes a log.
	logPatience = 10 * time.Minute
)

// upload sends one log of an attempt, as it is written and after its end. Offsets count all the bytes of the log; what was
// sent twice is dropped by the receiver, and a gap is answered with where to go on. A file that has grown too large is
// emptied, and a mark takes the place of what was not sent.
type upload struct {
	logFile
	server  Server
	leaseID string
	name    string        // of the log, for the control plane
	pause   time.Duration // after a failure

	finished chan struct{} // closed when no more will be written
	finish   func()
	done     chan struct{} // closed when everything is up, or given up

	up        atomic.Bool // everything is
	announced atomic.Bool // the control plane may have been told that more follows the report, and wants to be told of the end
}

// follows reports whether the log is not up yet when a report is sent; then its end will be told.
func (u *upload) follows() bool {
	u.announced.Store(true) // before the look: one of the two sees the other
	return !u.up.Load()
}

// startUpload starts to send a log of l, which is in the file at path, until it is up or the agent ends.
func (a *Agent) startUpload(life context.Context, l *lease, name, path string) *upload {
	u := &upload{
		logFile: logFile{path: path, limit: maxLog, mask: a.mask},
		server:  a.server, leaseID: l.LeaseID, name: name, pause: a.timing.of30(time.Second),
		finished: make(chan struct{}), done: make(chan struct{}),
	}
	u.finish = sync.OnceFunc(func() { close(u.finished) })
	a.deliveries.Go(func() { u.watchSize(life) })
	a.deliveries.Go(func() {
		defer close(u.done)
		if err := u.run(life, a.timing.callTimeout()); err != nil && life.Err() == nil {
			a.log.Warn("log given up", append(l.task(), "log", name, "err", err)...)
		}
	})
	return u
}

// run sends until all is sent, ctx ends, or the control plane wants no more; then it says why.
func (u *upload) run(ctx context.Context, callTimeout time.Duration) error {
	var closing <-chan time.Time
	for {
		last := false
		select {
		case <-u.finished:
			last = true // what is read from here on is all that there is
			if closing == nil {
				closing = time.After(logPatience)
			}
		default:
		}
		sent, err := u.step(ctx, callTimeout, last)
		wait := logPause
		switch {
		case err == nil && sent && last:
			continue
		case err == nil && sent:
			wait = logGather
		case err == nil && last:
			return nil
		case err != nil && answered(err):
			return err
		case err != nil:
			wait = u.pause
		}
		finished := u.finished
		if last {
			finished = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return errors.New("the control plane did not take the rest of it in time")
		case <-finished:
		case <-time.After(wait):
		}
	}
}

// step sends the next bytes, if there are any, and behind the last ones what there is to say of their end. last says that there
// will be no more.
func (u *upload) step(ctx context.Context, callTimeout time.Duration, last bool) (sent bool, err error) {
	p, offset, cuts, err := u.next(last)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer v1.LogAnswer
	switch {
	case len(p) > 0:
		answer, err = u.server.AppendLog(ctx, u.leaseID, u.name, offset, p)
	case last && u.mustEnd():
		err = u.server.EndLog(ctx, u.leaseID, u.name, offset)
	default:
		return false, nil
	}
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok && refusal.Code == "log_gap" {
		next, parseErr := strconv.ParseInt(refusal.Detail["next"], 10, 64)
		if parseErr != nil || next < 0 || next == offset {
			return false, err // it asks for what it was given
		}
		u.move(next, cuts, false)
		return true, nil
	}
	if err != nil || len(p) == 0 {
		return false, err
	}
	if answer.Next <= offset { // a receiver that takes nothing must not be asked in a loop
		return false, errors.New("the control plane took nothing of the log")
	}
	u.move(answer.Next, cuts, true)
	return true, nil
}

// mustEnd notes that everything is up, and reports whether the control plane waits to be told.
func (u *upload) mustEnd() bool {
	u.up.Store(true)
	return u.announced.Load()
}

// watchSize keeps the file from growing beyond its limit as long as somebody may write to it.
func (u *upload) watchSize(ctx context.Context) {
	tick := time.NewTicker(cutLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.finished:
			return
		case <-tick.C:
			u.cut()
		}
	}
}
