package v1

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Device is one device of the pool.
type Device struct {
	ID              string            `json:"id"`
	HostID          string            `json:"host_id"`
	Name            string            `json:"name"`
	DriverType      string            `json:"driver_type"`
	Tags            []string          `json:"tags"`
	Runners         []string          `json:"runners" doc:"offered by its host, the default first"`
	Fence           string            `json:"fence,omitempty" doc:"gate or process: how a runner is kept off the device when its lease is lost"`
	Attributes      map[string]string `json:"attributes,omitempty"`
	Condition       string            `json:"condition" doc:"the host's word; only ready devices are candidates"`
	ConditionReason string            `json:"condition_reason,omitempty"`
	ConditionSince  time.Time         `json:"condition_since"`
	Hold            string            `json:"hold" enum:"none,cordoned,quarantined"`
	HoldReason      string            `json:"hold_reason,omitempty"`
	HoldSince       *time.Time        `json:"hold_since,omitempty"`
	TaskID          string            `json:"task_id,omitempty" doc:"that holds it"`
	Unavailable     string            `json:"unavailable,omitempty" doc:"why it cannot take a task now; absent when it can"`
	RegisteredAt    time.Time         `json:"registered_at"`
}

// DeviceList is a page of devices, the oldest registration first.
type DeviceList struct {
	Devices []Device `json:"devices"`
	Next    string   `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// Host is one host of the pool.
type Host struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	State        string     `json:"state" enum:"ready,silent,deaf,draining,drained" doc:"ready: it takes tasks"`
	StateReason  string     `json:"state_reason,omitempty"`
	Devices      int        `json:"devices"`
	Running      int        `json:"running" doc:"devices that hold a task"`
	Incarnation  int64      `json:"incarnation"`
	Version      string     `json:"version,omitempty"`
	HeardAt      *time.Time `json:"heard_at,omitempty"`
	RegisteredAt time.Time  `json:"registered_at"`
}

// HostList holds all hosts that were not removed.
type HostList struct {
	Hosts []Host `json:"hosts"`
}

// HoldRequest says why.
type HoldRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"1024"`
}

// EnrollmentRequest asks for a one-time token.
type EnrollmentRequest struct {
	Name string `json:"name,omitempty" maxLength:"63" doc:"the host's name; the agent's own when left out"`
}

// Enrollment is a one-time token that an agent turns into a host.
type Enrollment struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// WorkflowRequest applies a workflow: a new version each time the content differs.
type WorkflowRequest struct {
	Source string `json:"source" doc:"the YAML of the workflow"`
}

// Workflow is one version of a workflow.
type Workflow struct {
	Name      string    `json:"name"`
	Version   int       `json:"version"`
	Source    string    `json:"source"`
	CreatedAt time.Time `json:"created_at"`

	Inputs []WorkflowInput `json:"inputs,omitempty" doc:"that its text declares, by name; only where one workflow is read"`
	Steps  []WorkflowStep  `json:"steps,omitempty" doc:"that its text declares, in order; only where one workflow is read"`
}

// WorkflowList holds the newest version of each workflow.
type WorkflowList struct {
	Workflows []Workflow `json:"workflows"`
}

// Event is one line of the record.
type Event struct {
	Pos       int64                  `json:"pos" doc:"follow from here"`
	At        time.Time              `json:"at"`
	Kind      string                 `json:"kind"`
	TaskID    string                 `json:"task_id,omitempty"`
	Attempt   int                    `json:"attempt,omitempty"`
	DeviceID  string                 `json:"device_id,omitempty"`
	HostID    string                 `json:"host_id,omitempty"`
	Actor     string                 `json:"actor"`
	RequestID string                 `json:"request_id,omitempty"`
	Detail    phonebooth.EventDetail `json:"detail"`
}

// EventList is a page of events, oldest first unless asked otherwise.
type EventList struct {
	Events []Event `json:"events"`
	Next   int64   `json:"next" doc:"after this position the next page begins; before it, if the newest come first"`
	More   bool    `json:"more" doc:"there may be more behind next"`
	Oldest int64   `json:"oldest" doc:"position of the first event that there is; those before it were removed after their retention"`
}

// Notice is what a stream of events says about itself.
type Notice struct {
	Code    string `json:"code" doc:"position_pruned or slow_reader"`
	Message string `json:"message"`
	Oldest  int64  `json:"oldest,omitempty" doc:"of position_pruned: the first event that there is"`
}

// The messages of a stream that are no events.
const (
	NoticePruned  = "pruned"  // what was asked for is gone; the stream goes on with what there is
	NoticeDropped = "dropped" // the reader is too slow; the stream ends
)

// Version tells what is running.
type Version struct {
	Version string    `json:"version"`
	API     string    `json:"api"`
	Now     time.Time `json:"now,omitzero" doc:"the server's wall clock"`
}

// EventOf is the wire form of e.
func EventOf(e phonebooth.Event) Event {
	return Event{
		Pos: e.Pos, At: e.At.UTC(), Kind: string(e.Kind), TaskID: string(e.TaskID), Attempt: e.Attempt, DeviceID: string(e.DeviceID),
		HostID: string(e.HostID), Actor: e.Actor, RequestID: e.RequestID, Detail: e.Detail,
	}
}

// WorkflowOf is the wire form of w.
func WorkflowOf(w phonebooth.Workflow) Workflow {
	return Workflow{Name: w.Name, Version: w.Version, Source: w.Source, CreatedAt: w.CreatedAt.UTC()}
}

// DeviceOf is the wire form of d, of host h, under reservation r (nil: none).
func DeviceOf(d phonebooth.Device, h phonebooth.Host, r *phonebooth.Reservation) Device {
	w := Device{
		ID: string(d.ID), HostID: string(d.HostID), Name: d.Name, DriverType: d.DriverType, Tags: listOf(d.Tags), Runners: listOf(d.Runners),
		Fence: d.Fence, Attributes: d.Attributes, Condition: string(d.Condition), ConditionReason: d.ConditionReason,
		ConditionSince: d.ConditionSince.UTC(), Hold: string(d.Hold), HoldReason: d.HoldReason, HoldSince: timeOf(d.HoldSince),
		Unavailable: string(d.Available(h, r)), RegisteredAt: d.RegisteredAt.UTC(),
	}
	if r != nil {
		w.TaskID = string(r.Attempt.TaskID)
	}
	return w
}

// HostOf is the wire form of h, which has so many devices, of which so many hold a task.
func HostOf(h phonebooth.Host, devices, running int) Host {
	w := Host{
		ID: string(h.ID), Name: h.Name, State: "ready", Devices: devices, Running: running,
		Incarnation: h.Incarnation, Version: h.Version, HeardAt: timeOf(h.HeardAt), RegisteredAt: h.RegisteredAt.UTC(),
	}
	switch {
	case !h.DrainingSince.IsZero() && running == 0:
		w.State = "drained"
	case !h.DrainingSince.IsZero():
		w.State = "draining"
	case !h.SilentSince.IsZero():
		w.State, w.StateReason = "silent", "no inventory from its agent"
	case !h.DeafSince.IsZero():
		w.State, w.StateReason = "deaf", h.DeafReason
	}
	return w
}

// listOf makes the empty list of a nil one, which JSON would show as null.
func listOf(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
