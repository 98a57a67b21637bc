package scheduler

import (
	"context"
	"sync"

	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// feed keeps the changes that were applied and not looked at yet.
type feed struct {
	signal chan struct{} // holds one when there is something to take

	mu      sync.Mutex
	changes []lifecycle.Change
	still   bool // everything was taken, and nothing that came of it is under way
	waiting []chan struct{}
}

func newFeed() feed { return feed{signal: make(chan struct{}, 1)} }

func (f *feed) put(c lifecycle.Change) {
	f.mu.Lock()
	f.changes, f.still = append(f.changes, c), false
	f.mu.Unlock()
	f.poke()
}

// poke has Run look again.
func (f *feed) poke() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

func (f *feed) take() []lifecycle.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes := f.changes
	f.changes = nil
	return changes
}

// stir says that something is under way.
func (f *feed) stir() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.still = false
}

// rest says that nothing is under way; it holds only if nothing was put meanwhile.
func (f *feed) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changes) > 0 {
		return
	}
	f.still = true
	for _, c := range f.waiting {
		close(c)
	}
	f.waiting = nil
}

func (f *feed) waitStill(ctx context.Context) error {
	f.mu.Lock()
	if f.still {
		f.mu.Unlock()
		return nil
	}
	c := make(chan struct{})
	f.waiting = append(f.waiting, c)
	f.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
