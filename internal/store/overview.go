package store

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Overview is what one look at everything needs, read in one transaction: the pool, what runs on it, and the newest past.
type Overview struct {
	Pos      int64 // of the newest event: all of this is as of it
	Queued   int
	Hosts    []phonebooth.Host // also removed ones, in the order in which they came
	Devices  []phonebooth.Device
	Running  []Running // live attempts, by device
	Minutes  []Minute  // those in which a task ended, oldest first
	Failures []FailedTask
}

// Running is a live attempt with what people want to know of its task.
type Running struct {
	phonebooth.AttemptKey
	DeviceID        phonebooth.DeviceID
	State           phonebooth.AttemptState
	AssignedAt      time.Time
	DispatchedAt    time.Time
	ExpiresAt       time.Time
	CancelRequested bool
	Brief           Brief
}

// Brief is what a task is about: the beginning of its goal, or its workflow.
type Brief struct {
	Goal     string // at most BriefGoal characters
	Workflow string
}

// BriefGoal is how many characters of a goal a [Brief] has.
const BriefGoal = 160

// Minute is how many tasks ended in one minute.
type Minute struct {
	At                      time.Time // its beginning
	Done, Failed, Cancelled int
}

// FailedTask is a task that failed.
type FailedTask struct {
	ID         phonebooth.TaskID
	DeviceID   phonebooth.DeviceID
	Attempt    int
	Failure    phonebooth.Failure
	FinishedAt time.Time
	Brief      Brief
}
