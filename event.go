package phonebooth

import "time"

// EventKind names what happened.
type EventKind string

// The kinds of event.
const (
	TaskSubmitted       EventKind = "task.submitted"
	TaskAssigned        EventKind = "task.assigned"
	TaskDispatched      EventKind = "task.dispatched"
	TaskRequeued        EventKind = "task.requeued"
	TaskCancelRequested EventKind = "task.cancel_requested"
	TaskDone            EventKind = "task.done"
	TaskFailed          EventKind = "task.failed"
	TaskCancelled       EventKind = "task.cancelled"
	AttemptLateReport   EventKind = "attempt.late_report"
	DeviceRegistered    EventKind = "device.registered"
	DeviceChanged       EventKind = "device.changed"
	DeviceHeld          EventKind = "device.held"
	DeviceUnheld        EventKind = "device.unheld"
	HostEnrolled        EventKind = "host.enrolled"
	HostStarted         EventKind = "host.started"
	HostSilent          EventKind = "host.silent"
	HostHeard           EventKind = "host.heard"
	HostDeaf            EventKind = "host.deaf"
	HostListening       EventKind = "host.listening"
	HostDraining        EventKind = "host.draining"
	HostResumed         EventKind = "host.resumed"
	HostRemoved         EventKind = "host.removed"
	WorkflowApplied     EventKind = "workflow.applied"
)

// EventKinds lists every kind of event.
func EventKinds() []EventKind {
	return []EventKind{
		TaskSubmitted, TaskAssigned, TaskDispatched, TaskRequeued, TaskCancelRequested, TaskDone, TaskFailed, TaskCancelled,
		AttemptLateReport, DeviceRegistered, DeviceChanged, DeviceHeld, DeviceUnheld, HostEnrolled, HostStarted, HostSilent, HostHeard,
		HostDeaf, HostListening, HostDraining, HostResumed, HostRemoved, WorkflowApplied,
	}
}

// Event is one line of the append-only record: the audit log, the live feed and the scheduler's alarm clock are this one
// thing. It names the rows that changed with it; whoever follows reads those.
type Event struct {
	Pos       int64 // gap-free, in the order of commits; the number to resume from
	At        time.Time
	Kind      EventKind
	TaskID    TaskID
	Attempt   int
	DeviceID  DeviceID
	HostID    HostID
	Actor     string // who asked: "admin", "host:NAME", "scheduler", "sweep"
	RequestID string
	Labels    map[string]string // of the task: the event may outlive it
	Detail    EventDetail
}

// EventDetail is what belongs to the kind; empty fields are left out of the wire form.
type EventDetail struct {
	Status    Status    `json:"status,omitempty"`
	Code      string    `json:"code,omitempty"`
	Message   string    `json:"message,omitempty"`
	Condition Condition `json:"condition,omitempty"`
	Hold      Hold      `json:"hold,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Name      string    `json:"name,omitempty"`
	Version   int       `json:"version,omitempty"`
	Strategy  string    `json:"strategy,omitempty"`
	Outcome   Outcome   `json:"outcome,omitempty"`
}
