package v1

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Overview is the pool at one glance, small enough to be asked for again and again: what every device does, what waits, and
// how the last hour went.
type Overview struct {
	At         time.Time        `json:"at"`
	Pos        int64            `json:"pos" doc:"of the newest event that is in it"`
	Tasks      OverviewTasks    `json:"tasks"`
	Lanes      []Lane           `json:"lanes" doc:"the queue by what its tasks ask of a device, the longest first, a few of them"`
	LaneCount  int              `json:"lane_count" doc:"how many lanes there are"`
	Hosts      []OverviewHost   `json:"hosts"`
	Devices    []OverviewDevice `json:"devices" doc:"the oldest registration first"`
	Throughput []Minute         `json:"throughput" doc:"the minutes of the last hour in which tasks ended, the oldest first"`
	Failures   []OverviewTask   `json:"failures" doc:"the tasks that failed last, the newest first"`
}

// OverviewTasks counts tasks: those that have not ended, and those that ended within the last hour.
type OverviewTasks struct {
	Queued     int `json:"queued"`
	Assigned   int `json:"assigned"`
	Dispatched int `json:"dispatched"`
	Done       int `json:"done" doc:"within the last hour"`
	Failed     int `json:"failed" doc:"within the last hour"`
	Cancelled  int `json:"cancelled" doc:"within the last hour"`
}

// Lane is the queued tasks that ask the same of a device.
type Lane struct {
	Constraints Constraints `json:"constraints"`
	Queued      int         `json:"queued"`
	Oldest      QueuedTask  `json:"oldest"`
}

// OverviewHost is a host in an overview.
type OverviewHost struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state" enum:"ready,silent,deaf,draining,drained"`
}

// OverviewDevice is a device in an overview.
type OverviewDevice struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	HostID      string       `json:"host_id"`
	DriverType  string       `json:"driver_type"`
	Unavailable string       `json:"unavailable,omitempty" doc:"why it cannot take a task now; absent when it can"`
	Reason      string       `json:"reason,omitempty" doc:"what was said about that"`
	Since       *time.Time   `json:"since,omitempty" doc:"for how long it has been so"`
	Run         *OverviewRun `json:"run,omitempty" doc:"of one that is reserved"`
}

// OverviewRun is what runs on a device.
type OverviewRun struct {
	TaskID          string    `json:"task_id"`
	Attempt         int       `json:"attempt"`
	State           string    `json:"state" enum:"assigned,dispatched"`
	Brief           string    `json:"brief" doc:"the beginning of the goal, or the workflow's name"`
	LeaseExpiresAt  time.Time `json:"lease_expires_at"`
	CancelRequested bool      `json:"cancel_requested,omitempty"`
}

// Minute is how many tasks ended in one minute.
type Minute struct {
	At        time.Time `json:"at" doc:"its beginning"`
	Done      int       `json:"done"`
	Failed    int       `json:"failed"`
	Cancelled int       `json:"cancelled"`
}

// OverviewTask is a task that failed.
type OverviewTask struct {
	TaskID     string    `json:"task_id"`
	Brief      string    `json:"brief" doc:"the beginning of the goal, or the workflow's name"`
	DeviceID   string    `json:"device_id,omitempty"`
	Attempt    int       `json:"attempt"`
	Failure    Failure   `json:"failure"`
	FinishedAt time.Time `json:"finished_at"`
}

// ConstraintsOf is the wire form of c.
func ConstraintsOf(c phonebooth.Constraints) Constraints {
	return Constraints{
		DriverType: c.DriverType, Tags: c.Tags, Runner: c.Runner, DeviceID: string(c.DeviceID), HostID: string(c.HostID),
	}
}
