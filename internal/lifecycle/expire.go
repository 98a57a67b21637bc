package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Expire ends an attempt whose lease ran out (S7.1 to S7.3). An assigned one is taken at its expiry: nobody can have started,
// and its host is deaf until it asks for work again. A dispatched one is taken a grace later, and its device is unconfirmed
// until the host says otherwise.
func Expire(l Live, policy Policy, now time.Time) (Change, error) {
	a := l.Attempt
	due := a.ExpiresAt
	if a.State == phonebooth.AttemptDispatched {
		due = due.Add(policy.Grace)
	}
	if a.State == phonebooth.AttemptEnded || now.Before(due) {
		return Change{}, notDue()
	}
	if a.State == phonebooth.AttemptAssigned {
		c := requeue(l, phonebooth.EndedExpired, phonebooth.Failure{
			Code: "lease_expired", Message: "the host did not claim the assignment in time",
		}, now)
		c.deafen(l.Host, "an assignment expired unclaimed", now)
		return c, nil
	}
	c := requeue(l, phonebooth.EndedExpired, phonebooth.Failure{
		Code: "lease_expired", Message: "the host stopped renewing the lease",
	}, now)
	c.unconfirm(l.Device, "its lease expired", now)
	return c, nil
}

// Release force-ends a live attempt on an operator's word; its device is unconfirmed until the host says otherwise.
func Release(l Live, now time.Time) (Change, error) {
	if !l.Attempt.Live() {
		return Change{}, phonebooth.Errorf(phonebooth.Conflict, "not_reserved", "no attempt holds this device; there is nothing to release")
	}
	c := requeue(l, phonebooth.EndedReleased, phonebooth.Failure{Code: "released", Message: "an operator released the device"}, now)
	if l.Attempt.State == phonebooth.AttemptDispatched {
		c.unconfirm(l.Device, "an operator released it", now)
	}
	return c, nil
}

// requeue ends the attempt without a result and decides about its task: cancelled with a cancellation pending, whatever
// attempts remain (S7.3); queued again while attempts remain (S7.1); failed at the limit (S7.2). Its queue
// deadline stays: a task that is queued again after it has waited long enough (S1.5).
func requeue(l Live, ending phonebooth.Ending, why phonebooth.Failure, now time.Time) Change {
	var c Change
	c.endAttempt(l.Attempt, ending, why, now)
	t := l.Task
	switch {
	case t.CancelRequested():
		c.finishTask(t, phonebooth.Cancelled, onRequest(why), now)
	case t.AttemptsLeft():
		t.Status = phonebooth.Queued
		c.task(t)
		c.taskEvent(phonebooth.TaskRequeued, t, phonebooth.EventDetail{Code: why.Code, Message: why.Message})
	default:
		c.finishTask(t, phonebooth.Failed, why, now)
	}
	return c
}

// Deafen marks a host that is not listening: its devices are no candidates until its next claim. seen is when the host was
// last known to listen; a claim since then wins.
func Deafen(h phonebooth.Host, reason string, seen, now time.Time) (Change, error) {
	if h.PolledAt.After(seen) || !h.RemovedAt.IsZero() {
		return Change{}, notDue()
	}
	var c Change
	c.deafen(h, reason, now)
	return c, nil
}

func (c *Change) deafen(h phonebooth.Host, reason string, now time.Time) {
	if !h.DeafSince.IsZero() {
		return
	}
	h.DeafSince, h.DeafReason = now, reason
	c.host(h)
	c.hostEvent(phonebooth.HostDeaf, h, phonebooth.EventDetail{Reason: reason})
}

// Silence marks a host that sent no inventory for too long: its devices are no candidates until it does (C26).
func Silence(h phonebooth.Host, policy Policy, now time.Time) (Change, error) {
	if !h.SilentSince.IsZero() || !h.RemovedAt.IsZero() || now.Before(h.HeardAt.Add(policy.HostSilence)) {
		return Change{}, notDue()
	}
	h.SilentSince = now
	var c Change
	c.host(h)
	c.hostEvent(phonebooth.HostSilent, h, phonebooth.EventDetail{})
	return c, nil
}

// unconfirm takes a device out until an inventory made after now says ready.
func (c *Change) unconfirm(d phonebooth.Device, reason string, now time.Time) {
	d.Confirm = d.Rev + 1
	setCondition(&d, phonebooth.Unconfirmed, reason, now)
	c.device(d)
	c.deviceEvent(phonebooth.DeviceChanged, d, phonebooth.EventDetail{Condition: d.Condition, Reason: reason})
}

// ExtendWindow gives an assigned attempt a new claim window: after the control plane was away, nobody could have claimed.
func ExtendWindow(l Live, policy Policy, now time.Time) (Change, error) {
	if l.Attempt.State != phonebooth.AttemptAssigned {
		return Change{}, notDue()
	}
	a := l.Attempt
	a.ExpiresAt = now.Add(policy.ClaimWindow)
	var c Change
	c.attempt(a)
	return c, nil
}
