package phonebooth

import "time"

// Workflow is one immutable version of a WorkflowDefinition. Its text is parsed by package workflow.
type Workflow struct {
	WorkflowRef
	Source    string // the YAML as it was applied
	Hash      string // of the source: equal content makes no new version
	CreatedAt time.Time
}
