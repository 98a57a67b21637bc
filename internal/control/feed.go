package control

import (
	"context"
	"sync"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// feed tells waiting readers that events were committed.
type feed struct {
	mu   sync.Mutex
	pos  int64
	next chan struct{} // closed at the next advance
}

func newFeed() *feed { return &feed{next: make(chan struct{})} }

func (f *feed) advance(events []phonebooth.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pos = events[len(events)-1].Pos
	close(f.next)
	f.next = make(chan struct{})
}

// Events lists events, oldest first.
func (c *Control) Events(ctx context.Context, filter store.EventFilter) ([]phonebooth.Event, error) {
	es, err := c.store.Events(ctx, filter)
	return es, answer(err, nil)
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
