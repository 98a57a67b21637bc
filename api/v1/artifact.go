package v1

import "encoding/json"

// Artifact is a file that an attempt left.
type Artifact struct {
	Attempt     int    `json:"attempt" doc:"number of the attempt that left it"`
	Name        string `json:"name" doc:"parts joined by '/'; of a workflow the first part is the step's id"`
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256" doc:"in hexadecimal"`
	ContentType string `json:"content_type" doc:"by the ending of the name; application/octet-stream when that says nothing"`
}

// ArtifactList holds artifacts by attempt and name.
type ArtifactList struct {
	Artifacts []Artifact `json:"artifacts"`
	Coming    int        `json:"coming,omitempty" doc:"how many more are still on their way from the host"`
}

// WorkflowResult is the result of a task that ran a workflow.
type WorkflowResult struct {
	Steps []StepResult `json:"steps"`
}

// How a step ended.
const (
	StepDone      = "done"
	StepFailed    = "failed"
	StepSkipped   = "skipped"
	StepCancelled = "cancelled"
)

// StepResult is how one step of a workflow went.
type StepResult struct {
	ID              string            `json:"id"`
	Name            string            `json:"name,omitempty"`
	Uses            string            `json:"uses,omitempty"` // the runner or preset
	Status          string            `json:"status"`         // StepDone or another
	Code            string            `json:"code,omitempty"`
	Message         string            `json:"message,omitempty"`
	Tries           int               `json:"tries"`
	DurationMS      int64             `json:"duration_ms"`
	Outputs         map[string]string `json:"outputs,omitempty"`
	LogOffset       int64             `json:"log_offset"` // where what it wrote begins in the runner log of the attempt
	LogBytes        int64             `json:"log_bytes"`
	ContinueOnError bool              `json:"continue_on_error,omitempty"`
	Result          json.RawMessage   `json:"result,omitempty"`
}
