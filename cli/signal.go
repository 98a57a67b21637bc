package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals end the program: the first one its context, a second one the process at once. Whoever waits may take some for
// himself. The zero value takes none.
type signals struct {
	mu   sync.Mutex
	take func(os.Signal) bool
}

// context ends with the first signal that nobody takes. stop gives everything back.
func (s *signals) context(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	heard := make(chan os.Signal, 4)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(heard)
		for {
			select {
			case sig := <-heard:
				if !s.taken(sig) {
					cancel()
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

func (s *signals) taken(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take != nil && s.take(sig)
}

// offer lets take decide on each signal, until release is called.
func (s *signals) offer(take func(os.Signal) bool) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take = take
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.take = nil
	}
}
