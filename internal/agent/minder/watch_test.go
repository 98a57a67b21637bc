package minder

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A runner may notice before its minder that the agent has died, because its way to the device ended with it: docs/adr/0017.
func TestC06_ARunnerThatFailsJustBeforeItsAgentIsKnownToBeDeadHasNotFailed(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	exited := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
	for name, c := range map[string]struct {
		status   syscall.WaitStatus
		gone     time.Duration // the agent, after the runner's end
		commands time.Duration // between two of the agent's; 0: it sends none
		stopped  bool
		want     Cause
		after    time.Duration
	}{
		"the agent is gone already":          {status: exited(1), gone: 0, want: AgentGone, after: 0},
		"the agent goes within the time":     {status: exited(1), gone: hearsay - 1, want: AgentGone, after: hearsay - 1},
		"it goes beside commands":            {status: exited(69), gone: hearsay - 1, commands: 7 * time.Millisecond, want: AgentGone, after: hearsay - 1},
		"the agent goes later":               {status: exited(1), gone: hearsay + 1, want: Exited, after: hearsay},
		"the agent lives":                    {status: exited(1), gone: never, want: Exited, after: hearsay},
		"the agent lives and renews":         {status: exited(1), gone: never, commands: time.Millisecond, want: Exited, after: hearsay},
		"a success counts whatever follows":  {status: exited(0), gone: 0, want: Exited, after: 0},
		"a runner that was stopped was":      {status: exited(1), gone: 0, stopped: true, want: Stopped, after: 0},
		"one that a signal ended was killed": {status: syscall.WaitStatus(syscall.SIGSEGV), gone: 0, want: Signaled, after: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				commands := make(chan command)
				over := make(chan struct{})
				go func() { // the agent
					end := time.After(c.gone)
					var next <-chan time.Time
					if c.commands > 0 {
						tick := time.NewTicker(c.commands)
						defer tick.Stop()
						next = tick.C
					}
					for {
						select {
						case <-end:
							close(commands)
							return
						case <-over:
							return
						case <-next:
							select {
							case commands <- command{Do: doDeadline}:
							case <-over:
								return
							}
						}
					}
				}()
				synctest.Wait() // an agent that is gone from the start is so now
				w := &watch{commands: commands, stopped: c.stopped}
				began := time.Now()
				e := w.judge(c.status)
				close(over)
				if took := time.Since(began); e.Cause != c.want || took != c.after {
					t.Errorf("cause %s after %v, want %s after %v", e.Cause, took, c.want, c.after)
				}
			})
		})
	}
}
