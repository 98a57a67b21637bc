package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Placement is a strategy's wish to bind a task to a device, with what the ledger must have ready for it.
type Placement struct {
	TaskID   phonebooth.TaskID
	DeviceID phonebooth.DeviceID
	HostID   phonebooth.HostID
	LeaseID  phonebooth.LeaseID // fresh and impossible to guess
	Strategy string
}

// Place binds queued t to d in one Change: the task assigned, attempt + 1, a new lease, its expiry, and the reservation
// (S5.1). It checks everything again on the locked rows, whatever the scheduler believed: r is the device's reservation, nil
// when there is none (S5.2). A refusal is normal and says which row had moved on.
func Place(p Placement, h phonebooth.Host, d phonebooth.Device, r *phonebooth.Reservation, t phonebooth.Task, policy Policy, now time.Time) (Change, error) {
	if t.Status != phonebooth.Queued {
		return Change{}, phonebooth.Errorf(phonebooth.Conflict, "task_not_queued", "the task is %s, not queued", t.Status)
	}
	if !t.QueueDeadline.IsZero() && !now.Before(t.QueueDeadline) {
		return Change{}, phonebooth.Errorf(phonebooth.Conflict, "task_not_queued", "the task's queue timeout has passed")
	}
	if m := t.Constraints.Match(d); m != phonebooth.Matches {
		return Change{}, phonebooth.Errorf(phonebooth.Conflict, "device_mismatch", "the device does not meet the task's %s", m)
	}
	if why := d.Available(h, r); why != phonebooth.Available {
		return Change{}, phonebooth.Errorf(phonebooth.Conflict, "device_unavailable", "the device cannot take a task: %s", why)
	}
	a := phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: t.ID, Number: t.Attempt + 1},
		LeaseID:    p.LeaseID, HostID: h.ID, DeviceID: d.ID, State: phonebooth.AttemptAssigned,
		AssignedAt: now, ExpiresAt: now.Add(policy.ClaimWindow),
	}
	t.Status, t.Attempt, t.DeviceID, t.HostID = phonebooth.Assigned, a.Number, d.ID, h.ID
	t.AssignedAt, t.DispatchedAt = now, time.Time{}
	var c Change
	c.task(t)
	c.attempt(a)
	c.Reserve = []phonebooth.Reservation{{DeviceID: d.ID, Attempt: a.AttemptKey, Since: now}}
	c.taskEvent(phonebooth.TaskAssigned, t, phonebooth.EventDetail{Strategy: p.Strategy})
	return c, nil
}
