package control

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// book is a database that holds the record only, and counts how often it is read.
type book struct {
	store.Store
	mu     sync.Mutex
	events []phonebooth.Event
	reads  atomic.Int32
}

func (b *book) Events(_ context.Context, f store.EventFilter) (found []phonebooth.Event, _ error) {
	b.reads.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Pos > f.After && len(found) < f.Limit {
			found = append(found, e)
		}
	}
	return found, nil
}

func (b *book) Head(context.Context) (store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return store.Head{Pos: b.end()}, nil
}

func (b *book) end() int64 {
	if n := len(b.events); n > 0 {
		return b.events[n-1].Pos
	}
	return 0
}

// commit writes n events and returns them.
func (b *book) commit(n int) []phonebooth.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := len(b.events)
	for range n {
		b.events = append(b.events, phonebooth.Event{Pos: b.end() + 1})
	}
	return b.events[from:]
}

func feeding(b *book) *Control { return &Control{store: b, feed: newFeed()} }

func TestThoseWhoFollowDoNotReadTheRecord(t *testing.T) {
	t.Parallel()
	b := &book{}
	c := feeding(b)
	c.feed.advance(b.commit(3))
	var readers sync.WaitGroup
	const n = 200
	ready, begun := make(chan bool, n), b.reads.Load()
	for range n {
		readers.Go(func() {
			more := c.EventsAfter(3)
			ready <- true
			<-more
			events, err := c.EventsBehind(t.Context(), 3)
			if err != nil || len(events) != 2 || events[0].Pos != 4 {
				t.Errorf("got %v, %v", events, err)
			}
			if events, err := c.EventsBehind(t.Context(), 5); err != nil || len(events) != 0 {
				t.Errorf("behind the newest: got %v, %v", events, err)
			}
		})
	}
	for range n {
		<-ready
	}
	c.feed.advance(b.commit(2))
	readers.Wait()
	if got := b.reads.Load() - begun; got != 0 {
		t.Errorf("%d reads for %d readers", got, n)
	}
}

// TestWhoFollowsMissesNothing lets this control plane and others commit in every order, and be told of it or not.
func TestWhoFollowsMissesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := &book{}
		c := feeding(b)
		var late [][]phonebooth.Event
		positions := []int64{0, 0, 0}
		read := func(who int) bool {
			events, err := c.EventsBehind(t.Context(), positions[who])
			if err != nil {
				r.Fatal(err)
			}
			for _, e := range events {
				if e.Pos != positions[who]+1 {
					r.Fatalf("reader %d is at %d and gets %d", who, positions[who], e.Pos)
				}
				positions[who] = e.Pos
			}
			return len(events) > 0
		}
		r.Repeat(map[string]func(*rapid.T){
			"we commit":           func(r *rapid.T) { c.feed.advance(b.commit(rapid.IntRange(1, 400).Draw(r, "n"))) },
			"another one commits": func(r *rapid.T) { late = append(late, b.commit(rapid.IntRange(1, 400).Draw(r, "n"))) },
			"its commit is told": func(r *rapid.T) {
				if len(late) > 0 {
					c.feed.advance(late[0])
					late = late[1:]
				}
			},
			"a reader reads": func(r *rapid.T) { read(rapid.IntRange(0, 2).Draw(r, "who")) },
		})
		if err := c.LookForEvents(t.Context()); err != nil {
			r.Fatal(err)
		}
		for who := range positions {
			for read(who) {
			}
			if positions[who] != b.end() {
				r.Fatalf("reader %d ends at %d of %d", who, positions[who], b.end())
			}
		}
	})
}
