package runner

import (
	"context"
	"time"
)

// Named fills in which runner it was, and how it was fenced.
func Named(next Execute, r Registration) Execute {
	return func(ctx context.Context, w Work) Ended {
		ended := next(ctx, w)
		ended.Runner, ended.Fence = r.Name, r.Fence
		return ended
	}
}

// look is how often steady time is compared with a due time at the least: a timer stands still while the machine sleeps.
const look = 250 * time.Millisecond

// Until ends what next does when the steady clock now reaches due, for the reason did. From due on next is not begun.
func Until(next Execute, now func() time.Duration, due time.Duration, did Did) Execute {
	return func(ctx context.Context, w Work) Ended {
		if now() >= due {
			return Ended{Report: did.Report(), Over: did == TimedOut}
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for now() < due {
				select {
				case <-ctx.Done():
					return
				case <-time.After(min(max(due-now(), time.Millisecond), look)):
				}
			}
			cancel(did)
		}()
		ended := next(ctx, w)
		cancel(nil)
		<-watched
		ended.Over = ended.Over || did == TimedOut && now() >= due
		return ended
	}
}
