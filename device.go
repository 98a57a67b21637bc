package phonebooth

import "time"

// Condition is the host's word on a device. Only [Ready] makes a candidate; any other text is shown as it is (C31).
type Condition string

// Conditions that Phonebooth itself gives or looks for. A bridge may report others.
const (
	Ready       Condition = "ready"
	Leased      Condition = "leased"   // an attempt of this host is on it
	Cleaning    Condition = "cleaning" // between an attempt and ready
	Unhealthy   Condition = "unhealthy"
	Offline     Condition = "offline"
	Ambiguous   Condition = "ambiguous"   // cannot be told from another device
	Unconfirmed Condition = "unconfirmed" // the server's own: a lease was taken, the host has not confirmed the device since
)

// Hold is the server's word on a device.
type Hold string

// The holds.
const (
	NoHold      Hold = "none"
	Cordoned    Hold = "cordoned"    // by an operator
	Quarantined Hold = "quarantined" // by a streak of quick infrastructure failures (C34)
)

// Word orders what one host says: a later life of its agent, or a later saying of the same life, is newer.
type Word struct {
	Incarnation int64
	Seq         int64
}

// Newer reports whether w was said after o.
func (w Word) Newer(o Word) bool {
	return w.Incarnation > o.Incarnation || w.Incarnation == o.Incarnation && w.Seq > o.Seq
}

// Device is one phone, emulator or other driveable target of a host.
type Device struct {
	ID         DeviceID
	HostID     HostID
	Key        string // the host's own stable name of it, unique on the host
	Name       string // what people see: a serial, usually
	DriverType string
	Tags       []string // sorted
	Runners    []string // that its host offers for it, the default first
	Fence      string   // how a runner is kept off it at the fence: "gate" or "process"
	Attributes map[string]string

	Condition       Condition
	ConditionReason string
	ConditionSince  time.Time
	Word            Word  // of its newest change; its host's Word may be newer
	Confirm         int64 // while Unconfirmed: what an inventory must repeat to prove that it was made afterwards; else 0

	Hold       Hold
	HoldReason string
	HoldSince  time.Time
	Streak     int      // quick infrastructure failures in a row
	Trail      []string // the attempts that the streak is made of, for people: the newest last

	RegisteredAt time.Time
	Rev          int64
}

// Reason says why a device cannot take a task now; "" means that it can.
type Reason string

// Why a device is no candidate. A condition other than ready gives "condition:" and the condition.
const (
	Available        Reason = ""
	ReasonRemoved    Reason = "host_removed"
	ReasonSilent     Reason = "host_silent"
	ReasonDeaf       Reason = "host_deaf"
	ReasonDraining   Reason = "host_draining"
	ReasonReserved   Reason = "reserved"
	ReasonCordon     Reason = "cordoned"
	ReasonQuarantine Reason = "quarantined"
)

// Available says why d, of host h, under reservation r (nil: none), cannot take a task now. With [Constraints.Match] it is
// the only judge of candidates: the scheduler, the placing transaction and explanations all ask here.
func (d Device) Available(h Host, r *Reservation) Reason {
	switch {
	case !h.RemovedAt.IsZero():
		return ReasonRemoved
	case r != nil:
		return ReasonReserved
	case d.Hold == Cordoned:
		return ReasonCordon
	case d.Hold == Quarantined:
		return ReasonQuarantine
	case !h.DrainingSince.IsZero():
		return ReasonDraining
	case !h.SilentSince.IsZero():
		return ReasonSilent
	case !h.DeafSince.IsZero():
		return ReasonDeaf
	case d.Condition != Ready:
		return Reason("condition:" + string(d.Condition))
	}
	return Available
}
