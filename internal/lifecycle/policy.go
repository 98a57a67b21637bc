package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// DefaultTTL is the lease of production; every other number scales with it.
const DefaultTTL = 30 * time.Second

// RateSpread is by how much two clocks' rates may differ: 1.2 means 20 %.
const RateSpread = 1.2

// Policy holds the numbers of the lease protocol (design, section 5).
type Policy struct {
	TTL         time.Duration // set on claim and on renewal
	ClaimWindow time.Duration // an assignment is claimed within it, or swept at its end without grace
	FenceMargin time.Duration // M: the host side stops driving this long before the lease ends
	KillTime    time.Duration // K: how long a kill may take
	Grace       time.Duration // G: dispatched leases are swept this long after their expiry
	HostSilence time.Duration // without inventory for this long: silent
	HostPolling time.Duration // without a claim request for this long: deaf
	Heartbeat   time.Duration // of the agent's inventory
}

// NewPolicy scales every number with ttl.
func NewPolicy(ttl time.Duration) Policy {
	of30 := func(seconds time.Duration) time.Duration { return ttl * seconds / 30 }
	return Policy{
		TTL: ttl, ClaimWindow: of30(15), FenceMargin: of30(4), KillTime: of30(3), Grace: of30(5),
		HostSilence: of30(45), HostPolling: of30(30), Heartbeat: of30(15),
	}
}

// Validate refuses numbers under which two runners could hold one device: a host whose clock is slow by the whole spread
// must be done with killing before the sweep gives the device away.
func (p Policy) Validate() error {
	if p.TTL < time.Second {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "lease_ttl must be at least 1s")
	}
	if p.ClaimWindow <= 0 || p.FenceMargin <= 0 || p.KillTime <= 0 || p.Grace < 0 || p.FenceMargin >= p.TTL {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the lease numbers must be positive, and the fence margin less than the lease")
	}
	driving := time.Duration(RateSpread * float64(p.TTL-p.FenceMargin+p.KillTime))
	if driving > p.TTL+p.Grace {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"unsafe lease numbers: a slow host could drive for %v, but its lease is swept after %v; raise the fence margin or the grace", driving, p.TTL+p.Grace)
	}
	return nil
}

// RenewEvery is the pause between two renewals.
func (p Policy) RenewEvery() time.Duration { return p.TTL / 3 }

// Quick is how soon after its claim a failure of the infrastructure counts towards quarantine.
func (p Policy) Quick() time.Duration { return p.TTL / 3 }

// QuarantineStreak is how many quick infrastructure failures in a row take a device out (C34).
const QuarantineStreak = 3
