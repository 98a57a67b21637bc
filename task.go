package phonebooth

import (
	"encoding/json"
	"time"
)

// Status is where a task stands. Nothing leaves a terminal status.
type Status string

// The statuses: queued -> assigned -> dispatched -> done | failed | cancelled.
const (
	Queued     Status = "queued"
	Assigned   Status = "assigned"
	Dispatched Status = "dispatched"
	Done       Status = "done"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Statuses lists every status in the order of a task's life.
func Statuses() []Status {
	return []Status{Queued, Assigned, Dispatched, Done, Failed, Cancelled}
}

// Terminal reports whether nothing follows s.
func (s Status) Terminal() bool { return s == Done || s == Failed || s == Cancelled }

// Active reports whether a task in s holds a device.
func (s Status) Active() bool { return s == Assigned || s == Dispatched }

// WorkflowRef names one version of a workflow.
type WorkflowRef struct {
	Name    string
	Version int // 1 is the first; 0 in a submission means the newest
}

// TaskSpec is what a caller asks for. Exactly one of Goal and Workflow is set (S1.1).
type TaskSpec struct {
	Goal         string
	Workflow     *WorkflowRef
	Inputs       json.RawMessage // JSON object for the workflow, or nil
	Constraints  Constraints
	Priority     int           // -10..10; only strategies that look at it care
	Timeout      time.Duration // of one attempt, from claim to end
	QueueTimeout time.Duration // S1.5; 0: waits for ever
	MaxAttempts  int
	Labels       map[string]string
}

// Failure says why a task failed, or why an attempt ended as it did. Code is stable; Message is for people.
type Failure struct {
	Code    string
	Message string
}

// Submission is who submitted a task, and under which idempotency key: a second submission by the same subject under the
// same key is the same request.
type Submission struct {
	Subject        string
	IdempotencyKey string // "" when the caller sent none
	BodyHash       string // tells a repeat from another body under the same key
}

// Task is what a caller asked for and where it stands.
type Task struct {
	TaskSpec
	ID         TaskID
	Submission Submission
	Seq        int64 // position of its task.submitted event: the order of submission
	Rev        int64 // grows with every change of the row

	Status            Status
	Attempt           int // number of the newest attempt, 0 before the first
	DeviceID          DeviceID
	HostID            HostID
	LeaseExpiresAt    time.Time // of the live attempt, else zero: filled by reads, never written
	CancelRequestedAt time.Time // on the current attempt: it ends with that attempt, so no later one can inherit it
	Failure           *Failure
	Result            json.RawMessage // what the runner said, or nil

	CreatedAt     time.Time
	QueueDeadline time.Time // zero: none
	AssignedAt    time.Time // of the newest attempt
	DispatchedAt  time.Time // of the newest attempt
	FinishedAt    time.Time
}

// CancelRequested reports whether a cancellation is pending on the current attempt.
func (t Task) CancelRequested() bool { return !t.CancelRequestedAt.IsZero() && t.Status.Active() }

// AttemptsLeft reports whether another attempt may follow the newest one.
func (t Task) AttemptsLeft() bool { return t.Attempt < t.MaxAttempts }
