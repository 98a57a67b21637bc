package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// ApplyWorkflow makes source the next version of the workflow called name, unless newest, the zero value when there is none,
// already has it. Versions are immutable.
func ApplyWorkflow(newest phonebooth.Workflow, name, source, hash string, now time.Time) (c Change, w phonebooth.Workflow, created bool) {
	if newest.Version > 0 && newest.Hash == hash {
		return c, newest, false
	}
	w = phonebooth.Workflow{
		WorkflowRef: phonebooth.WorkflowRef{Name: name, Version: newest.Version + 1},
		Source:      source, Hash: hash, CreatedAt: now,
	}
	c.Workflows = []phonebooth.Workflow{w}
	c.Events = []phonebooth.Event{{Kind: phonebooth.WorkflowApplied, Detail: phonebooth.EventDetail{Name: name, Version: w.Version}}}
	return c, w, true
}
