package control

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

const (
	feedPage  = 256         // events that one who follows the record gets at once
	feedKeeps = 4096        // of the newest events, for all who follow
	lookEvery = time.Second // for events of other replicas
)

// feed keeps the newest events, so that those who follow the record, many at once, need not read it, and tells them of more.
type feed struct {
	reads singleflight.Group // by position: who waits at the same one reads together

	mu     sync.Mutex
	pos    int64 // of the newest event that is known of
	recent []phonebooth.Event
	next   chan struct{} // closed at the next advance
	looked time.Time
}

func newFeed() *feed { return &feed{next: make(chan struct{})} }

// advance takes in events that were committed here. Behind a gap, which another replica has filled, they are only known of:
// whoever follows reads them all.
func (f *feed) advance(events []phonebooth.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.recent) == 0 || events[0].Pos == f.end()+1 {
		f.keep(events)
	}
	f.wake(events[len(events)-1].Pos)
}

// fill takes in events that were read.
func (f *feed) fill(events []phonebooth.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch first := events[0].Pos; {
	case len(f.recent) == 0 || first > f.end()+1:
		f.recent = nil
		f.keep(events)
	case first == f.end()+1:
		f.keep(events)
	}
}

// end is the position of the newest event that is kept.
func (f *feed) end() int64 { return f.recent[len(f.recent)-1].Pos }

// keep never writes where events were handed out.
func (f *feed) keep(events []phonebooth.Event) {
	f.recent = append(f.recent, events...)
	if over := len(f.recent) - feedKeeps; over > feedKeeps {
		f.recent = append([]phonebooth.Event(nil), f.recent[over:]...)
	}
}

func (f *feed) wake(pos int64) {
	if pos > f.pos {
		f.pos = pos
		close(f.next)
		f.next = make(chan struct{})
	}
}

// behind are the events behind a position that are kept; known is false when they must be read.
func (f *feed) behind(pos int64) (events []phonebooth.Event, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos >= f.pos && f.pos > 0 {
		return nil, true
	}
	if len(f.recent) == 0 || pos < f.recent[0].Pos-1 || pos >= f.end() {
		return nil, false
	}
	from := int(pos - f.recent[0].Pos + 1)
	upTo := min(from+feedPage, len(f.recent))
	return f.recent[from:upTo:upTo], true
}

// EventsBehind are the next events behind a position, at most a few hundred, for one who follows the record: they are read
// once for all who wait there. If the first one is not the next position, retention has removed those between.
func (c *Control) EventsBehind(ctx context.Context, pos int64) ([]phonebooth.Event, error) {
	if events, known := c.feed.behind(pos); known {
		return events, nil
	}
	read := c.feed.reads.DoChan(strconv.FormatInt(pos, 10), func() (any, error) {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer stop()
		events, err := c.store.Events(ctx, store.EventFilter{After: pos, Limit: feedPage})
		c.feed.fill(events)
		return events, err
	})
	select {
	case got := <-read:
		return got.Val.([]phonebooth.Event), answer(got.Err, nil)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// EventsAfter is a channel that is closed when an event above pos may be read; at once when one was committed already.
func (c *Control) EventsAfter(pos int64) <-chan struct{} {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	if c.feed.pos > pos {
		done := make(chan struct{})
		close(done)
		return done
	}
	return c.feed.next
}

// LookForEvents notices what other replicas have committed. Those who follow the record call it now and then; once a second
// one of the calls reads.
func (c *Control) LookForEvents(ctx context.Context) error {
	f := c.feed
	f.mu.Lock()
	due := time.Since(f.looked) >= lookEvery
	if due {
		f.looked = time.Now()
	}
	f.mu.Unlock()
	if !due {
		return nil
	}
	head, err := c.store.Head(ctx)
	if err != nil {
		return answer(err, nil)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake(head.Pos)
	return nil
}
