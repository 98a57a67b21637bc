package runner

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Named fills in which runner it was, and how it was fenced.
func Named(next Execute, r Registration) Execute {
	return func(ctx context.Context, w Work) phonebooth.Report {
		report := next(ctx, w)
		report.Runner, report.Fence = r.Name, r.Fence
		return report
	}
}

// look is how often steady time is compared with a due time at the least: a timer stands still while the machine sleeps.
const look = 250 * time.Millisecond

// Until ends what next does when the steady clock now reaches due, for the reason did. From due on next is not begun.
func Until(next Execute, now func() time.Duration, due time.Duration, did Did) Execute {
	return func(ctx context.Context, w Work) phonebooth.Report {
		if now() >= due {
			return did.Report()
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
		report := next(ctx, w)
		cancel(nil)
		<-watched
		return report
	}
}
