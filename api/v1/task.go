package v1

import (
	"encoding/json"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// TaskRequest submits a task: a goal or a workflow, exactly one.
type TaskRequest struct {
	Goal          string            `json:"goal,omitempty" doc:"what the device should do; at most 100 KiB"`
	Workflow      *WorkflowRef      `json:"workflow,omitempty"`
	Constraints   Constraints       `json:"constraints,omitempty"`
	TimeoutS      int64             `json:"timeout_s,omitempty" minimum:"0" maximum:"86400" doc:"of one attempt; 1 to 86400, 1800 when left out"`
	QueueTimeoutS int64             `json:"queue_timeout_s,omitempty" minimum:"0" maximum:"31536000" doc:"the task fails when it is still queued then; left out: it waits for ever"`
	Priority      int               `json:"priority,omitempty" minimum:"-10" maximum:"10" doc:"larger goes first, under strategies that look at it"`
	MaxAttempts   int               `json:"max_attempts,omitempty" minimum:"0" maximum:"10" doc:"1 to 10, 3 when left out"`
	Labels        map[string]string `json:"labels,omitempty"`
}

// WorkflowRef names a version of a workflow; in a submission version 0, or none, is the newest.
type WorkflowRef struct {
	Name    string          `json:"name"`
	Version int             `json:"version,omitempty"`
	Inputs  json.RawMessage `json:"inputs,omitempty"`
}

// Constraints say what a device must be.
type Constraints struct {
	DriverType string   `json:"driver_type,omitempty" doc:"android, ios, webdriver, sim, or a bridge's own"`
	Tags       []string `json:"tags,omitempty" doc:"all of them are required"`
	Runner     string   `json:"runner,omitempty" doc:"the host must offer it"`
	DeviceID   string   `json:"device_id,omitempty"`
	HostID     string   `json:"host_id,omitempty"`
}

// Failure says why.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Task is a task and where it stands.
type Task struct {
	ID              string            `json:"id"`
	Status          string            `json:"status" enum:"queued,assigned,dispatched,done,failed,cancelled"`
	Goal            string            `json:"goal,omitempty"`
	Workflow        *WorkflowRef      `json:"workflow,omitempty"`
	Constraints     Constraints       `json:"constraints"`
	Priority        int               `json:"priority"`
	TimeoutS        int64             `json:"timeout_s"`
	QueueTimeoutS   int64             `json:"queue_timeout_s,omitempty"`
	Attempt         int               `json:"attempt" doc:"number of the newest attempt; 0 before the first"`
	MaxAttempts     int               `json:"max_attempts"`
	Labels          map[string]string `json:"labels,omitempty"`
	DeviceID        string            `json:"device_id,omitempty" doc:"of the newest attempt"`
	HostID          string            `json:"host_id,omitempty" doc:"of the newest attempt"`
	LeaseExpiresAt  *time.Time        `json:"lease_expires_at,omitempty"`
	CancelRequested bool              `json:"cancel_requested"`
	Failure         *Failure          `json:"failure,omitempty"`
	Result          json.RawMessage   `json:"result,omitempty"`
	CreatedAt       time.Time         `json:"created_at"`
	AssignedAt      *time.Time        `json:"assigned_at,omitempty"`
	DispatchedAt    *time.Time        `json:"dispatched_at,omitempty"`
	FinishedAt      *time.Time        `json:"finished_at,omitempty"`
}

// TaskList is a page of tasks, newest first.
type TaskList struct {
	Tasks []Task `json:"tasks"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// Attempt is one try at a task. It never holds a lease id.
type Attempt struct {
	Number       int        `json:"number"`
	State        string     `json:"state" enum:"assigned,dispatched,ended"`
	HostID       string     `json:"host_id"`
	DeviceID     string     `json:"device_id"`
	Runner       string     `json:"runner,omitempty"`
	Fence        string     `json:"fence,omitempty"`
	AssignedAt   time.Time  `json:"assigned_at"`
	DispatchedAt *time.Time `json:"dispatched_at,omitempty"`
	ExpiresAt    time.Time  `json:"expires_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	Ending       string     `json:"ending,omitempty" enum:"done,failed,cancelled,expired,abandoned,released"`
	Reason       *Failure   `json:"reason,omitempty"`
	Reported     string     `json:"reported,omitempty" doc:"the accepted outcome"`
	LateReport   *Report    `json:"late_report,omitempty" doc:"came after the attempt had ended; kept as evidence, without effect"`
}

// Report is what a host said.
type Report struct {
	Outcome string          `json:"outcome"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// AttemptList holds all attempts of a task, the first one first.
type AttemptList struct {
	Attempts []Attempt `json:"attempts"`
}

// Spec is the request in the vocabulary, with its defaults.
func (r TaskRequest) Spec() phonebooth.TaskSpec {
	s := phonebooth.TaskSpec{
		Goal: r.Goal, Priority: r.Priority, MaxAttempts: r.MaxAttempts, Labels: r.Labels,
		Timeout: time.Duration(r.TimeoutS) * time.Second, QueueTimeout: time.Duration(r.QueueTimeoutS) * time.Second,
		Constraints: phonebooth.Constraints{
			DriverType: r.Constraints.DriverType, Tags: r.Constraints.Tags, Runner: r.Constraints.Runner,
			DeviceID: phonebooth.DeviceID(r.Constraints.DeviceID), HostID: phonebooth.HostID(r.Constraints.HostID),
		},
	}
	if r.Workflow != nil {
		s.Workflow = &phonebooth.WorkflowRef{Name: r.Workflow.Name, Version: r.Workflow.Version}
		s.Inputs = valueOf(r.Workflow.Inputs)
	}
	return s.WithDefaults()
}

// Checked is what r asks for, or why it makes no sense, at a pointer into r.
func (r TaskRequest) Checked() (phonebooth.TaskSpec, error) {
	spec := r.Spec()
	if err := phonebooth.ValidTags("/constraints/tags", r.Constraints.Tags); err != nil { // as they stand here: a spec has them sorted
		return spec, err
	}
	if err := spec.Validate(); err != nil {
		return spec, err
	}
	if inputs := spec.Inputs; len(inputs) > 0 && inputs[0] != '{' {
		return spec, phonebooth.Errorf(phonebooth.Invalid, "invalid", "the workflow's inputs must be an object").With("pointer", "/workflow/inputs")
	}
	return spec, nil
}

// TaskOf is the wire form of t.
func TaskOf(t phonebooth.Task) Task {
	w := Task{
		ID: string(t.ID), Status: string(t.Status), Goal: t.Goal, Priority: t.Priority,
		TimeoutS: int64(t.Timeout / time.Second), QueueTimeoutS: int64(t.QueueTimeout / time.Second),
		Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, Labels: t.Labels,
		DeviceID: string(t.DeviceID), HostID: string(t.HostID), LeaseExpiresAt: timeOf(t.LeaseExpiresAt),
		CancelRequested: t.CancelRequested(), Failure: failureOf(t.Failure), Result: t.Result,
		CreatedAt: t.CreatedAt.UTC(), AssignedAt: timeOf(t.AssignedAt), DispatchedAt: timeOf(t.DispatchedAt), FinishedAt: timeOf(t.FinishedAt),
		Constraints: Constraints{
			DriverType: t.Constraints.DriverType, Tags: t.Constraints.Tags, Runner: t.Constraints.Runner,
			DeviceID: string(t.Constraints.DeviceID), HostID: string(t.Constraints.HostID),
		},
	}
	if t.Workflow != nil {
		w.Workflow = &WorkflowRef{Name: t.Workflow.Name, Version: t.Workflow.Version, Inputs: t.Inputs}
	}
	return w
}

// AttemptOf is the wire form of a.
func AttemptOf(a phonebooth.Attempt) Attempt {
	w := Attempt{
		Number: a.Number, State: string(a.State), HostID: string(a.HostID), DeviceID: string(a.DeviceID),
		AssignedAt: a.AssignedAt.UTC(), DispatchedAt: timeOf(a.DispatchedAt), ExpiresAt: a.ExpiresAt.UTC(), EndedAt: timeOf(a.EndedAt),
		Ending: string(a.Ending),
	}
	if a.Reason != (phonebooth.Failure{}) {
		w.Reason = failureOf(&a.Reason)
	}
	if a.Reported != nil {
		w.Reported, w.Runner, w.Fence = string(a.Reported.Outcome), a.Reported.Runner, a.Reported.Fence
	}
	if e := a.Evidence; e != nil {
		w.LateReport = &Report{Outcome: string(e.Outcome), Code: e.Failure.Code, Message: e.Failure.Message, Result: e.Result}
	}
	return w
}

func failureOf(f *phonebooth.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Code: f.Code, Message: f.Message}
}

// valueOf takes a JSON null for what was left out.
func valueOf(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
