package leader

import (
	"context"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// lead has the work done and keeps the seat meanwhile; it returns when the work has ended, and says why.
func (l *Leadership) lead(ctx context.Context, s seat, work func(ctx context.Context, term int64)) (why string) {
	l.opts.Log.Info("this replica leads now", "term", s.term)
	l.Tick()
	working, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(working, s.term)
	}()
	why = l.keep(working, s, done)
	stop()
	l.opts.Observe(false)
	l.opts.Log.Info("this replica leads no longer", "term", s.term, "reason", why)
	select {
	case <-done:
	case <-time.After(l.margin()): // it hangs
	}
	if why != lost { // the others need not wait for the end of our time
		l.resign(ctx, s.term)
	}
	<-done
	return why
}

// Why a replica leads no longer.
const (
	stopping = "it stops"
	lost     = "its time is over"
	hangs    = "its own work hangs"
	ended    = "its work has ended"
)

// keep renews the seat until that fails for too long, the work hangs or ends, or ctx ends.
func (l *Leadership) keep(ctx context.Context, s seat, done <-chan struct{}) (why string) {
	check := time.NewTicker(min(recheck, l.look()))
	defer check.Stop()
	renewed := make(chan seat)
	var asked sync.WaitGroup
	defer asked.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := l.opts.Steady() + l.renewEvery()
	asking := false
	for {
		select {
		case <-ctx.Done():
			return stopping
		case <-done:
			return ended
		case newer := <-renewed:
			asking = false
			if newer.term == s.term {
				s, next = newer, l.opts.Steady()+l.renewEvery()
			} else if newer.term != 0 {
				return lost
			}
		case <-check.C:
		}
		now := l.opts.Steady()
		switch {
		case now >= s.trusted:
			return lost
		case now-time.Duration(l.ticked.Load()) >= l.opts.TTL:
			return hangs
		case now >= next && !asking:
			asking, next = true, now+l.look()
			asked.Go(func() { l.renew(ctx, renewed) })
		}
	}
}

// renew asks for more time. An answer without a term is none, and one of another term says that somebody else leads.
func (l *Leadership) renew(ctx context.Context, renewed chan<- seat) {
	asking, stop := context.WithTimeout(ctx, l.renewEvery())
	defer stop()
	s, err := l.take(asking, false)
	switch {
	case refused(err):
		s.term = -1
	case err != nil:
		l.opts.Log.Warn("leadership could not be renewed", "error", err)
		s = seat{}
	}
	select {
	case renewed <- s:
	case <-ctx.Done():
	}
}

// resign gives the seat back, also when ctx has ended.
func (l *Leadership) resign(ctx context.Context, term int64) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), l.margin())
	defer stop()
	err := l.do(ctx, "resign", func(row lifecycle.Leader, now time.Time) (lifecycle.Change, error) {
		return lifecycle.Resign(row, l.opts.Holder, term, now), nil
	})
	if err != nil {
		l.opts.Log.Debug("leadership could not be given back", "error", err)
	}
}
