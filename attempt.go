package phonebooth

import (
	"encoding/json"
	"time"
)

// AttemptKey names one attempt.
type AttemptKey struct {
	TaskID TaskID
	Number int // from 1
}

// AttemptState is where an attempt stands.
type AttemptState string

// The states of an attempt.
const (
	AttemptAssigned   AttemptState = "assigned"   // bound to a device, not yet claimed
	AttemptDispatched AttemptState = "dispatched" // claimed: the host may be driving the device
	AttemptEnded      AttemptState = "ended"
)

// Outcome is what a host reports of an attempt.
type Outcome string

// The outcomes a host may report.
const (
	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeAbandoned Outcome = "abandoned" // given back: S7.5
)

// Valid reports whether o is one of the outcomes.
func (o Outcome) Valid() bool {
	return o == OutcomeDone || o == OutcomeFailed || o == OutcomeCancelled || o == OutcomeAbandoned
}

// Ending is how an attempt ended.
type Ending string

// The endings of an attempt.
const (
	EndedDone      Ending = "done"
	EndedFailed    Ending = "failed"
	EndedCancelled Ending = "cancelled"
	EndedExpired   Ending = "expired"   // the sweep took its lease
	EndedAbandoned Ending = "abandoned" // the host gave it back
	EndedReleased  Ending = "released"  // an operator forced it
)

// Report is what the owning host said of an attempt. The first accepted one counts; repeats are recognised by Outcome.
type Report struct {
	Outcome Outcome
	Failure Failure         // code and message; for done both may be empty
	Result  json.RawMessage // what the runner said, or nil
	Runner  string          // the runner that ran, "" when none was started
	Fence   string          // how it was fenced: "gate" or "process"
}

// Attempt is one try at a task on one device, kept with its task.
type Attempt struct {
	AttemptKey
	LeaseID     LeaseID
	HostID      HostID
	DeviceID    DeviceID
	State       AttemptState
	ClaimID     string // of the request that got it
	Incarnation int64  // of the agent that claimed it

	AssignedAt   time.Time
	DispatchedAt time.Time // zero: never claimed
	ExpiresAt    time.Time // of the lease; kept after the end
	EndedAt      time.Time

	Ending   Ending  // "" while live
	Reason   Failure // of the ending
	Reported *Report // the accepted report, nil when it ended without one
	Evidence *Report // a report that came after the attempt had ended without one: kept, without effect
}

// Live reports whether the attempt has not ended.
func (a Attempt) Live() bool { return a.State != AttemptEnded }

// Reservation keeps a device for one attempt. One row a device, whatever anybody believes (S5.2).
type Reservation struct {
	DeviceID DeviceID
	Attempt  AttemptKey
	Since    time.Time
}
