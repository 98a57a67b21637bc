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
	poke(c.grown)
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
			return true
		case isLocal:
			c.log.Warn("artifact cannot be read", "err", local)
			return true
		case answered(err):
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
