package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Enroll adds a host to the pool. It is deaf until its agent asks for work.
func Enroll(id phonebooth.HostID, name, tokenHash string, now time.Time) Change {
	h := phonebooth.Host{
		ID: id, Name: name, TokenHash: tokenHash, RegisteredAt: now, HeardAt: now,
		DeafSince: now, DeafReason: "its agent has not asked for work yet",
	}
	var c Change
	c.host(h)
	c.hostEvent(phonebooth.HostEnrolled, h, phonebooth.EventDetail{})
	return c
}

// Start is the first call of every life of an agent. startID is drawn by that life, so that a repeated call gets the same
// answer; previous is the incarnation that the agent remembers. An agent with another memory is a copy or a restored backup
// and is refused, unless takeOver says that the older one shall go (C10). The host is deaf until the new agent has sent an
// inventory and asked for work.
//
// An agent that continues an earlier life knows from its journal and locks what that life left behind, and has its leases. One
// that took over knows nothing: it begins a new line of incarnations, and the leases of the older line run out by themselves,
// because their agent may go on driving until it is told (see [Renew] and [Finish]).
func Start(h phonebooth.Host, startID string, previous int64, takeOver bool, version string, now time.Time) (Change, phonebooth.Host, error) {
	if err := CheckIncarnation(h, h.Incarnation); err != nil {
		return Change{}, h, err
	}
	if startID != "" && startID == h.StartID {
		return Change{}, h, nil
	}
	if previous != h.Incarnation && !takeOver {
		return Change{}, h, phonebooth.Errorf(phonebooth.Conflict, "host_identity_conflict",
			"another agent has been running as this host; if this one shall replace it, start it with --take-over")
	}
	h.PolledAt = time.Time{}
	if previous == h.Incarnation {
		h.Incarnation++
	} else {
		h.Incarnation = (h.Incarnation/lineSpan + 1) * lineSpan
	}
	h.StartID, h.Version = startID, version
	var c Change
	if h.DeafSince.IsZero() {
		h.DeafSince, h.DeafReason = now, "its agent has just started"
	}
	c.host(h)
	h.Rev++
	c.hostEvent(phonebooth.HostStarted, h, phonebooth.EventDetail{})
	return c, h, nil
}

// lineSpan parts the lines of an agent's lives: the incarnations of one line have one quotient by it.
const lineSpan = 1_000_000

// takenOver reports whether the attempt was claimed by a line of agents that another has replaced.
func takenOver(l Live) bool {
	return l.Attempt.State == phonebooth.AttemptDispatched && l.Attempt.Incarnation/lineSpan != l.Host.Incarnation/lineSpan
}

// Drain keeps new tasks from h's devices; what runs may end. Twice is once (C35).
func Drain(h phonebooth.Host, now time.Time) Change {
	var c Change
	if h.DrainingSince.IsZero() {
		h.DrainingSince = now
		c.host(h)
		c.hostEvent(phonebooth.HostDraining, h, phonebooth.EventDetail{})
	}
	return c
}

// Resume ends a drain.
func Resume(h phonebooth.Host) Change {
	var c Change
	if !h.DrainingSince.IsZero() {
		h.DrainingSince = time.Time{}
		c.host(h)
		c.hostEvent(phonebooth.HostResumed, h, phonebooth.EventDetail{})
	}
	return c
}

// Remove takes h out of the pool for ever: its token is worthless and its devices are no candidates. reserved is how many of
// its devices are reserved; while there is one, the host stays.
func Remove(h phonebooth.Host, reserved int, now time.Time) (Change, error) {
	var c Change
	if !h.RemovedAt.IsZero() {
		return c, nil
	}
	if reserved > 0 {
		return c, phonebooth.Errorf(phonebooth.Conflict, "host_busy",
			"%d of the host's devices hold a task; drain the host and wait, or release the devices", reserved)
	}
	h.RemovedAt = now
	c.host(h)
	c.hostEvent(phonebooth.HostRemoved, h, phonebooth.EventDetail{})
	return c, nil
}

// Cordon keeps new tasks from d on an operator's word. A quarantined device becomes cordoned.
func Cordon(d phonebooth.Device, reason string, now time.Time) Change {
	var c Change
	if d.Hold == phonebooth.Cordoned && d.HoldReason == reason {
		return c
	}
	d.Hold, d.HoldReason, d.HoldSince = phonebooth.Cordoned, reason, now
	c.device(d)
	c.deviceEvent(phonebooth.DeviceHeld, d, phonebooth.EventDetail{Hold: d.Hold, Reason: reason})
	return c
}

// Uncordon ends any hold on d, a quarantine as well, and forgets its streak.
func Uncordon(d phonebooth.Device) Change {
	var c Change
	if d.Hold == phonebooth.NoHold {
		return c
	}
	d.Hold, d.HoldReason, d.HoldSince, d.Streak, d.Trail = phonebooth.NoHold, "", time.Time{}, 0, nil
	c.device(d)
	c.deviceEvent(phonebooth.DeviceUnheld, d, phonebooth.EventDetail{Hold: d.Hold})
	return c
}
