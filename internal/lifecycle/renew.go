package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Renewal is the answer to one lease of a renewal call.
type Renewal struct {
	Lost            string // "" when renewed, else why the lease is lost: expired, superseded, released, ended, timeout
	CancelRequested bool
	Lease, Fence    time.Duration // left, by the store's clock
}

// Renew moves the expiry of a claimed lease to now + TTL (S10.1). A pending cancellation is told and changes nothing about
// the extension (S10.2, C25). A lease whose expiry has passed stays lost, even before the sweep took it: the device may be
// somebody else's at any moment (S10.4). So does one whose agent was taken over. It writes no event. The caller has checked the
// asking agent with [CheckIncarnation].
func Renew(l Live, host phonebooth.HostID, policy Policy, now time.Time) (Change, Renewal, error) {
	a := l.Attempt
	switch {
	case a.HostID != host:
		return Change{}, Renewal{}, leaseUnknown()
	case a.DispatchedAt.IsZero(): // S10.5, also when it has ended since
		return Change{}, Renewal{}, notClaimed()
	case a.State == phonebooth.AttemptEnded, takenOver(l):
		return Change{}, Renewal{Lost: LostReason(l)}, nil
	case !now.Before(a.ExpiresAt):
		return Change{}, Renewal{Lost: "expired"}, nil
	case now.After(a.DispatchedAt.Add(l.Task.Timeout + 2*policy.TTL)):
		return Change{}, Renewal{Lost: "timeout"}, nil
	}
	a.ExpiresAt = now.Add(policy.TTL)
	var c Change
	c.attempt(a)
	r := Renewal{CancelRequested: l.Task.CancelRequested()}
	r.Lease, r.Fence = LeaseLeft(a, policy, now)
	return c, r, nil
}

func notClaimed() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Conflict, "not_claimed", "this attempt was never claimed; claim it first")
}
