package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/artifact"
)

// courier sends the artifacts of one attempt, one after the other. What was sent is removed from the disk, so that the next
// life of the agent does not send it again.
type courier struct {
	server  Server
	leaseID string
	pause   func() time.Duration // after a failure
	timeout time.Duration        // of a call, without the time that the bytes take
	log     *slog.Logger
	closing <-chan time.Time // when to give up; set at the first failure after the attempt's end, and read by run alone

	mu    sync.Mutex
	queue []parcelled
	grown chan struct{} // gets a token when there is more

	left      int  // files that were taken in and are not up: in the queue, or on their way
	up        int  // files that arrived
	announced bool // the control plane may have been told how many there will be
	short     bool // fewer come than it may have been told

	finished chan struct{} // closed when no more will come
	finish   func()
	done     chan struct{} // closed when everything is up, or given up
}

// parcelled is one file, and the working directory that it is in.
type parcelled struct {
	place string
	artifact.File
}

// slowest is how many bytes a second the control plane takes at the least; a call that is slower is broken off.
const slowest = 256 << 10

// startCourier starts to send the artifacts of l, until they are up or the agent ends.
func (a *Agent) startCourier(life context.Context, l *lease) *courier {
	c := &courier{
		server: a.server, leaseID: l.LeaseID, pause: a.timing.pause, timeout: a.timing.callTimeout(), log: a.log.With(l.task()...),
		grown: make(chan struct{}, 1), finished: make(chan struct{}), done: make(chan struct{}),
	}
	c.finish = sync.OnceFunc(func() { close(c.finished) })
	a.deliveries.Go(func() {
		defer close(c.done)
		c.run(life)
		c.end(life)
	})
	return c
}

// add takes files of a working directory in.
func (c *courier) add(place string, files []artifact.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		c.queue = append(c.queue, parcelled{place, f})
	}
	c.left += len(files)
	poke(c.grown)
}

// follow is how many files there will be of the attempt, when some are not up yet as a report is sent, or else 0.
func (c *courier) follow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return 0
	}
	c.announced = true
	return c.up + c.left
}

// settled notes what became of a file.
func (c *courier) settled(arrived bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if arrived {
		c.up++
	} else {
		c.short = c.short || c.announced
	}
}

// end tells the control plane not to wait for files that were announced and will not come.
func (c *courier) end(ctx context.Context) {
	c.mu.Lock()
	tell := c.announced && (c.short || c.left > 0)
	c.mu.Unlock()
	for tell && ctx.Err() == nil && !c.late() {
		call, cancel := context.WithTimeout(ctx, c.timeout)
		err := c.server.EndLog(call, c.leaseID, v1.Artifacts, 0)
		cancel()
		if err == nil || answered(err) || !sleep(ctx, c.pause()) {
			return
		}
	}
}

func (c *courier) take() (p parcelled, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return p, false
	}
	p, c.queue = c.queue[0], c.queue[1:]
	return p, true
}

// run sends until all is sent, or ctx ends. From the attempt's end on it does so for a bounded time.
func (c *courier) run(ctx context.Context) {
	for {
		last := false
		select {
		case <-c.finished:
			last = true // what is in the queue from here on is all that there is
		default:
		}
		p, ok := c.take()
		switch {
		case ok:
			if !c.deliver(ctx, p) {
				return
			}
		case last:
			return
		default:
			select {
			case <-ctx.Done():
				return
			case <-c.finished:
			case <-c.grown:
			}
		}
	}
}

// deliver sends one file, again and again. It returns false when no other needs to be tried.
func (c *courier) deliver(ctx context.Context, p parcelled) bool {
	for {
		err := c.send(ctx, p)
		local, isLocal := errors.AsType[*spoiled](err)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			c.settled(true)
			return true
		case isLocal:
			c.settled(false)
			c.log.Warn("artifact cannot be read", "err", local)
			return true
		case answered(err):
			c.settled(false)
			c.log.Warn("artifact refused", "err", err)
			return phonebooth.CodeOf(err) != "lease_unknown"
		}
		if c.late() {
			c.log.Warn("artifacts given up: the control plane did not take them in time", "err", err)
			return false
		}
		if !sleep(ctx, c.pause()) {
			return false
		}
	}
}

// late reports whether the attempt ended so long ago that its artifacts are not taken any more.
func (c *courier) late() bool {
	select {
	case <-c.finished:
	default:
		return false
	}
	if c.closing == nil {
		c.closing = time.After(logPatience)
	}
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// spoiled is the error of a file that cannot be sent whoever takes it.
type spoiled struct{ cause error }

// Error names no path.
func (s *spoiled) Error() string {
	if path, ok := errors.AsType[*os.PathError](s.cause); ok {
		return path.Err.Error()
	}
	return s.cause.Error()
}

// send makes one call, and then removes the file.
func (c *courier) send(ctx context.Context, p parcelled) error {
	file, err := artifact.Open(p.place, p.File)
	if err != nil {
		return &spoiled{err}
	}
	defer file.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, file); err != nil || n != p.Bytes {
		return &spoiled{errors.Join(fmt.Errorf("%d bytes were read", n), err)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout+time.Duration(p.Bytes/slowest)*time.Second)
	defer cancel()
	err = c.server.PutArtifact(ctx, c.leaseID, p.Name, p.Bytes, hex.EncodeToString(sum.Sum(nil)), io.NewSectionReader(file, 0, p.Bytes))
	if err != nil {
		return err
	}
	if err := artifact.Remove(p.place, p.File); err != nil {
		c.log.Warn("cannot remove an artifact that was sent", "err", (&spoiled{err}).Error())
	}
	return nil
}
