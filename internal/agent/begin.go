package agent

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// attempt works on one assignment from its claim to the device's being ready again. It is the attempt's own goroutine. ctx
// ends with the lease, life with the agent.
func (a *Agent) attempt(ctx, life context.Context, l *lease) {
	l.sending = a.startSending(life, l)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		l.watch(a.now, ended)
	}()
	run := a.allowed(a.journaled(a.locked(a.opened(a.dispatched))))
	report := run(ctx, l)
	close(ended)
	<-watched
	l.stop(nil)
	a.settle(life, l, report)
	a.clean(life, l)
}

// stage is one layer around an attempt: it does its own part and calls the next, or ends the attempt with a report.
type stage func(ctx context.Context, l *lease) phonebooth.Report

// allowed begins nothing that must not begin: a cancelled attempt (S6.4), one whose fence has passed, one on a device that
// other hands are on.
func (a *Agent) allowed(next stage) stage {
	return func(ctx context.Context, l *lease) phonebooth.Report {
		switch did := runner.DidOf(ctx); {
		case l.CancelRequested:
			return runner.Cancelled.Report()
		case !l.mayDrive(a.now()):
			return runner.Fenced.Report()
		case did != runner.Nothing:
			return did.Report()
		case a.pool.isFull():
			return runner.GivenBack("try_again", "the host's disk has no room")
		}
		if l.device, l.hands = a.pool.take(l.key(), l.LeaseID); !l.hands {
			return runner.GivenBack("try_again", "the host is not done with the device's last attempt")
		}
		if !l.device.present {
			return runner.GivenBack("device_lost", "the device was gone before anything was started")
		}
		return next(ctx, l)
	}
}
