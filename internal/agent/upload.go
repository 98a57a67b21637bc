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
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// maxLog is how large the file of a log may grow: a program that writes faster than the control plane takes must not fill the
// host's disk.
const maxLog = 64 << 20

// cutMark stands in a log where a part was dropped.
const cutMark = "\n[phonebooth: a part of the log was dropped here: it grew faster than its host could send it]\n"

const (
	// chunk is how much of a log is in memory at most.
	chunk = 256 << 10
	// logPause is how long to wait for more.
	logPause = 250 * time.Millisecond
	// logPatience is how long after the end of its attempt the control plane takes a log.
	logPatience = 10 * time.Minute
)

// upload sends the log of one attempt, as it is written and after its end. Offsets count all the bytes of the log; what was
// sent twice is dropped by the receiver, and a gap is answered with where to go on. A file that has grown too large is
// emptied, and a mark takes the place of what was not sent.
type upload struct {
	server  Server
	leaseID string
	name    string // of the log, for the control plane
	path    string
	pause   time.Duration // after a failure
	limit   int64         // of the file
	offset  int64         // of the next byte in the log

	mu   sync.Mutex
	at   int64 // of the next byte in the file
	cuts int   // how often the file was emptied
	lost bool  // something of the log was dropped just before at

	finished chan struct{} // closed when no more will be written
	finish   func()
	done     chan struct{} // closed when everything is up, or given up
}

// startUpload starts to send the log of l, until it is up or the agent ends.
func (a *Agent) startUpload(life context.Context, l *lease) *upload {
	u := &upload{
		server: a.server, leaseID: l.LeaseID, name: v1.LogRunner, path: logPath(l.dir), pause: a.timing.of30(time.Second), limit: maxLog,
		finished: make(chan struct{}), done: make(chan struct{}),
	}
	u.finish = sync.OnceFunc(func() { close(u.finished) })
	a.deliveries.Go(func() { u.watchSize(life) })
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
	p, cuts, err := u.next()
	if err != nil || len(p) == 0 {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := u.server.AppendLog(ctx, u.leaseID, u.name, u.offset, p)
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok && refusal.Code == "log_gap" {
		next, parseErr := strconv.ParseInt(refusal.Detail["next"], 10, 64)
		if parseErr != nil || next < 0 || next == u.offset {
			return false, err // it asks for what it was given
		}
		u.move(next, cuts, false)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if answer.Next <= u.offset { // a receiver that takes nothing must not be asked in a loop
		return false, errors.New("the control plane took nothing of the log")
	}
	u.move(answer.Next, cuts, true)
	return true, nil
}

// next is what to send: the mark of a cut, or the file's next bytes. cuts tells which file that was.
func (u *upload) next() (p []byte, cuts int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if info, err := os.Stat(u.path); err == nil && info.Size() < u.at { // emptied in a former life, or by the program
		u.at, u.lost = 0, true
	}
	if u.lost {
		return []byte(cutMark), u.cuts, nil
	}
	p, err = readAt(u.path, u.at)
	return p, u.cuts, err
}

// move goes on at offset in the log, which is as far away in the file, unless that has been emptied meanwhile. taken says that
// what next gave has arrived.
func (u *upload) move(offset int64, cuts int, taken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.cuts != cuts:
	case u.lost:
		u.lost = !taken
	default:
		u.at = max(u.at+offset-u.offset, 0)
	}
	u.offset = offset
}

// size is how long the log is so far: what was sent, and what is still in the file. A nil upload has none.
func (u *upload) size() int64 {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	info, err := os.Stat(u.path)
	if err != nil {
		return u.offset
	}
	return u.offset + max(info.Size()-u.at, 0)
}

// watchSize keeps the file from growing beyond its limit as long as somebody may write to it.
func (u *upload) watchSize(ctx context.Context) {
	tick := time.NewTicker(logPause)
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

// cut empties a file that is too large. The program goes on writing at its beginning, because it appends.
func (u *upload) cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	info, err := os.Stat(u.path)
	if err != nil || info.Size() <= u.limit || os.Truncate(u.path, 0) != nil {
		return // there is none yet, it is small, or the next look will do
	}
	u.lost = u.lost || info.Size() > u.at
	u.at, u.cuts = 0, u.cuts+1
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
