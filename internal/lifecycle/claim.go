package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Poll notes that the host asked for work: it listens, so a host that was deaf is not any more, once this life of its agent
// has also sent an inventory: what an earlier life said of the devices may have changed while nobody looked. incarnation is
// the asking agent's.
func Poll(h phonebooth.Host, incarnation int64, now time.Time) (Change, error) {
	if err := CheckIncarnation(h, incarnation); err != nil {
		return Change{}, err
	}
	var c Change
	h.PolledAt = now
	if h.Word.Incarnation == h.Incarnation {
		c.listen(&h)
	}
	c.host(h)
	return c, nil
}

// Leave notes that the asking agent is about to stop: its host is deaf until it asks again, so that no task is bound to where
// nobody will claim it.
func Leave(h phonebooth.Host, incarnation int64, now time.Time) (Change, error) {
	if err := CheckIncarnation(h, incarnation); err != nil {
		return Change{}, err
	}
	var c Change
	c.deafen(h, "its agent has stopped", now)
	return c, nil
}

// listen ends a deafness; the caller writes h.
func (c *Change) listen(h *phonebooth.Host) {
	if !h.DeafSince.IsZero() {
		h.DeafSince, h.DeafReason = time.Time{}, ""
		c.hostEvent(phonebooth.HostListening, *h, phonebooth.EventDetail{})
	}
}

// Claim hands an assigned attempt to the agent of the host that owns it: it becomes dispatched under a full lease (S6.1).
// An attempt with a pending cancellation is claimed like any other; the answer says so, and the agent starts nothing (S6.4).
// Whoever answers a claim first looks for attempts that its claim id already got: a repeat gets those, and never more (S6.2).
func Claim(l Live, host phonebooth.HostID, claimID string, incarnation int64, policy Policy, now time.Time) (Change, error) {
	a := l.Attempt
	if a.HostID != host {
		return Change{}, leaseUnknown()
	}
	if err := CheckIncarnation(l.Host, incarnation); err != nil {
		return Change{}, err
	}
	switch a.State {
	case phonebooth.AttemptEnded:
		return Change{}, leaseLost(l, "")
	case phonebooth.AttemptDispatched:
		return Change{}, leaseLost(l, "claimed")
	}
	if !now.Before(a.ExpiresAt) {
		return Change{}, leaseLost(l, "expired")
	}
	a.State, a.ClaimID, a.Incarnation = phonebooth.AttemptDispatched, claimID, incarnation
	a.DispatchedAt, a.ExpiresAt = now, now.Add(policy.TTL)
	t := l.Task
	t.Status, t.DispatchedAt = phonebooth.Dispatched, now
	var c Change
	c.task(t)
	c.attempt(a)
	c.taskEvent(phonebooth.TaskDispatched, t, phonebooth.EventDetail{})
	return c, nil
}

// LeaseLeft is what is left of a lease, and of the time until its fence, by the store's clock. The wire carries these
// durations and never a time of day. Both may be negative: then the agent must not start anything.
func LeaseLeft(a phonebooth.Attempt, policy Policy, now time.Time) (lease, fence time.Duration) {
	lease = a.ExpiresAt.Sub(now)
	return lease, lease - policy.FenceMargin
}

// CheckIncarnation refuses an agent that is not the newest life of its host (C10).
func CheckIncarnation(h phonebooth.Host, incarnation int64) error {
	switch {
	case !h.RemovedAt.IsZero():
		return phonebooth.Errorf(phonebooth.Unauthenticated, "unauthenticated", "this host was removed from the pool; enroll it again")
	case incarnation < h.Incarnation:
		return phonebooth.Errorf(phonebooth.Conflict, "host_superseded", "a newer agent has taken over this host; this one must stop")
	case incarnation > h.Incarnation:
		return phonebooth.Errorf(phonebooth.Conflict, "host_identity_conflict",
			"this agent knows an incarnation that the control plane does not: was a backup restored? start the agent with --take-over")
	}
	return nil
}

func leaseUnknown() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "lease_unknown", "this host has no such lease")
}

// leaseLost is the refusal for an attempt that can no longer do what was asked; reason "" derives it from the rows.
func leaseLost(l Live, reason string) *phonebooth.Error {
	if reason == "" {
		reason = LostReason(l)
	}
	return phonebooth.Errorf(phonebooth.Conflict, "lease_lost", "the lease is lost: %s", reason).With("reason", reason)
}

// LostReason says why a lease is lost: a newer attempt or another line of agents has taken its place, or how it ended.
func LostReason(l Live) string {
	switch {
	case l.Task.Attempt > l.Attempt.Number, takenOver(l):
		return "superseded"
	case l.Attempt.Ending == phonebooth.EndedExpired:
		return "expired"
	case l.Attempt.Ending == phonebooth.EndedReleased:
		return "released"
	}
	return "ended"
}
