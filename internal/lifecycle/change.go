package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Change is what a verb wants written: whole new rows, reservations to add and to remove, and the events that tell of it.
// A batch of verbs merges into one Change, in which the last state of each row stands once.
type Change struct {
	Hosts     []phonebooth.Host
	Devices   []phonebooth.Device
	Tasks     []phonebooth.Task
	Attempts  []phonebooth.Attempt
	Workflows []phonebooth.Workflow
	Reserve   []phonebooth.Reservation
	Release   []phonebooth.DeviceID
	Leader    *Leader            // nil: unchanged
	Events    []phonebooth.Event // without Pos, At and request: the ledger gives those
}

// Empty reports whether there is nothing to write.
func (c Change) Empty() bool {
	return len(c.Hosts)+len(c.Devices)+len(c.Tasks)+len(c.Attempts)+len(c.Workflows)+len(c.Reserve)+len(c.Release)+len(c.Events) == 0 && c.Leader == nil
}

// Live is an attempt with the rows around it. Task may be about another, newer attempt.
type Live struct {
	Host    phonebooth.Host
	Device  phonebooth.Device
	Task    phonebooth.Task
	Attempt phonebooth.Attempt
}

func (c *Change) task(t phonebooth.Task)       { t.Rev++; c.Tasks = append(c.Tasks, t) }
func (c *Change) device(d phonebooth.Device)   { d.Rev++; c.Devices = append(c.Devices, d) }
func (c *Change) host(h phonebooth.Host)       { h.Rev++; c.Hosts = append(c.Hosts, h) }
func (c *Change) attempt(a phonebooth.Attempt) { c.Attempts = append(c.Attempts, a) }

func (c *Change) taskEvent(kind phonebooth.EventKind, t phonebooth.Task, detail phonebooth.EventDetail) {
	detail.Status = t.Status
	c.Events = append(c.Events, phonebooth.Event{
		Kind: kind, TaskID: t.ID, Attempt: t.Attempt, DeviceID: t.DeviceID, HostID: t.HostID, Detail: detail,
	})
}

func (c *Change) deviceEvent(kind phonebooth.EventKind, d phonebooth.Device, detail phonebooth.EventDetail) {
	c.Events = append(c.Events, phonebooth.Event{Kind: kind, DeviceID: d.ID, HostID: d.HostID, Detail: detail})
}

func (c *Change) hostEvent(kind phonebooth.EventKind, h phonebooth.Host, detail phonebooth.EventDetail) {
	detail.Name = h.Name
	c.Events = append(c.Events, phonebooth.Event{Kind: kind, HostID: h.ID, Detail: detail})
}

// setCondition gives d a condition and remembers since when; it reports whether anything that people see changed.
func setCondition(d *phonebooth.Device, condition phonebooth.Condition, reason string, now time.Time) bool {
	if d.Condition == condition && d.ConditionReason == reason {
		return false
	}
	if d.Condition != condition {
		d.ConditionSince = now
	}
	d.Condition, d.ConditionReason = condition, reason
	return true
}
