package phonebooth

import "time"

// Host is a machine that owns devices and runs a Host Agent. Times that are zero mean "not so".
type Host struct {
	ID          HostID
	Name        string
	TokenHash   string // of its agent's secret; the secret itself is never here
	Incarnation int64  // of its agent: 0 before the first start
	StartID     string // of the newest start, so that a repeated first call is recognised
	Version     string // of its agent

	DrainingSince time.Time // an operator wants nothing new on it
	SilentSince   time.Time // no heartbeat for too long
	DeafSince     time.Time // not listening for assignments: devices are no candidates until its next claim
	DeafReason    string

	Word     Word      // of the newest inventory: it speaks for every device that no newer report spoke of
	HeardAt  time.Time // last inventory; written without an event
	PolledAt time.Time // last claim request; written without an event

	RegisteredAt time.Time
	RemovedAt    time.Time
	Rev          int64
}

// Listening reports whether an assignment would be picked up.
func (h Host) Listening() bool {
	return h.SilentSince.IsZero() && h.DeafSince.IsZero() && h.RemovedAt.IsZero()
}
