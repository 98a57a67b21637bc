package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

const (
	// chunk is how much of a log is in memory at most.
	chunk = 256 << 10
	// logPause is how long to wait for more.
	logPause = 250 * time.Millisecond
	// logPatience is how long after the end of its attempt the control plane takes a log.
	logPatience = 10 * time.Minute
)

// upload sends the log of one attempt, as it is written and after its end. Offsets count the bytes that the runner wrote;
// what was sent twice is dropped by the receiver, and a gap is answered with where to go on.
type upload struct {
	server  Server
	leaseID string
	path    string
	pause   time.Duration // after a failure
	offset  int64

	finished chan struct{} // closed when no more will be written
	finish   func()
	done     chan struct{} // closed when everything is up, or given up
}

// startUpload starts to send the log of l, until it is up or the agent ends.
func (a *Agent) startUpload(life context.Context, l *lease) *upload {
	u := &upload{
		server: a.server, leaseID: l.LeaseID, path: logPath(l.dir), pause: a.timing.of30(time.Second),
		finished: make(chan struct{}), done: make(chan struct{}),
	}
	u.finish = sync.OnceFunc(func() { close(u.finished) })
	a.deliveries.Go(func() {
		defer close(u.done)
		if err := u.run(life, a.timing.callTimeout()); err != nil && life.Err() == nil {
			a.log.Warn("log given up", append(l.task(), "err", err)...)
		}
	})
	return u
}

// await waits until the log is up, for d at most or until ctx ends.
func (u *upload) await(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-u.done:
	case <-ctx.Done():
	}
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
		sent, err := u.step(ctx, callTimeout)
		wait := logPause
		switch {
		case err == nil && sent:
			continue
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

// step sends the next bytes, if there are any.
func (u *upload) step(ctx context.Context, callTimeout time.Duration) (sent bool, err error) {
	p, err := readAt(u.path, u.offset)
	if err != nil || len(p) == 0 {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := u.server.AppendLog(ctx, u.leaseID, u.offset, p)
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok && refusal.Code == "log_gap" {
		next, parseErr := strconv.ParseInt(refusal.Detail["next"], 10, 64)
		if parseErr != nil || next < 0 || next == u.offset {
			return false, err // it asks for what it was given
		}
		u.offset = next
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if answer.Next <= u.offset { // a receiver that takes nothing must not be asked in a loop
		return false, errors.New("the control plane took nothing of the log")
	}
	u.offset = answer.Next
	return true, nil
}

// readAt reads up to one chunk. A file that is not there yet is empty.
func readAt(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("the log cannot be opened")
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, errors.New("the log cannot be read")
	}
	p := make([]byte, min(max(info.Size()-offset, 0), chunk))
	n, err := file.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("the log cannot be read")
	}
	return p[:n], nil
}
