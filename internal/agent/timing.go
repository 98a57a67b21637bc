package agent

import (
	"context"
	"math/rand/v2"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// timing is the protocol's clockwork as the control plane told it. Everything scales with the lease.
type timing struct {
	lease, renew, heartbeat time.Duration
}

// untold is the timing before the control plane has told it: that of production.
var untold = timing{lease: 30 * time.Second, renew: 10 * time.Second, heartbeat: 15 * time.Second}

func timingOf(t v1.Timing) timing {
	ms := func(n int64, otherwise time.Duration) time.Duration {
		if n <= 0 {
			return otherwise
		}
		return time.Duration(n) * time.Millisecond
	}
	told := timing{lease: ms(t.LeaseMS, untold.lease)}
	told.renew = ms(t.RenewMS, told.lease/3)
	told.heartbeat = ms(t.HeartbeatMS, told.lease/2)
	return told
}

// of30 is d of a lease of 30 s, in proportion to the lease that is.
func (t timing) of30(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(t.lease) / float64(30*time.Second))
}

// renewEvery is the pause to the next renewal, spread so that hosts do not fall into step.
func (t timing) renewEvery() time.Duration {
	return time.Duration(float64(t.renew) * (0.9 + 0.2*rand.Float64()))
}

// renewTimeout bounds one renewal call, and renewAgain is the pause after one that failed: two repeats fit before the fence.
func (t timing) renewTimeout() time.Duration { return t.of30(4 * time.Second) }
func (t timing) renewAgain() time.Duration   { return t.of30(time.Second) }

// endsSoon reports whether a lease with so much left until its fence needs a renewal out of turn: the next one in turn would
// leave no time for a repeat.
func (t timing) endsSoon(fence time.Duration) bool { return fence < 2*t.renew }

// callTimeout bounds every other call, and pause is how long to wait after one that failed: full jitter up to the cap from
// the first time on.
func (t timing) callTimeout() time.Duration { return max(t.of30(10*time.Second), 2*time.Second) }

func (t timing) pause() time.Duration { return time.Millisecond + rand.N(t.of30(10*time.Second)) }

// longestWait is how long a claim may be parked.
func (t timing) longestWait() time.Duration { return min(t.of30(25*time.Second), 25*time.Second) }

// sleep waits for d; it returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
