// Package workflow reads workflow definitions and runs their steps in order.
//
// A definition is YAML:
//
//	version: steps/v1
//	name: dark-mode
//	steps:
//	  - open Settings
//	  - turn on dark mode
//
// Each step is a goal. [Parse] refuses everything else, with the line and the column; [Run] hands one step after the other
// to the task-execution entry point, under the lease of the one attempt, and stops at the first that is not done. It starts
// nothing itself, stores nothing, and retries nothing. Both are safe for any number of goroutines.
package workflow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// Version is the one version of the grammar.
const Version = "steps/v1"

// Limits of a definition.
const (
	MaxSourceBytes = 512 << 10
	MaxSteps       = 100
)

// Definition is a workflow: named steps in order.
type Definition struct {
	Name  string
	Steps []Step
}

// Step is one goal of a workflow.
type Step struct {
	Goal string
}

// result is what a task of a workflow keeps: one entry for each step that was begun.
type result struct {
	Steps []stepResult `json:"steps"`
}

type stepResult struct {
	Step    int                `json:"step"`
	Outcome phonebooth.Outcome `json:"outcome"`
	Code    string             `json:"code,omitempty"`
	Result  json.RawMessage    `json:"result,omitempty"`
}

// Run is the workflow-execution entry point: it has execute work on each step of d in turn, w being the same but for the goal.
// The first step that is not done ends the workflow with that step's outcome, and says at which step. It begins no step once
// ctx has ended.
func Run(ctx context.Context, d Definition, w runner.Work, execute runner.Execute) phonebooth.Report {
	var all result
	var report phonebooth.Report
	for i, step := range d.Steps {
		w.Step, w.Steps, w.Goal = i+1, len(d.Steps), step.Goal
		if did := runner.DidOf(ctx); did != runner.Nothing {
			stopped := did.Report()
			stopped.Runner, stopped.Fence = report.Runner, report.Fence
			report = stopped
		} else {
			report = execute(ctx, w).Report
			all.Steps = append(all.Steps, stepResult{Step: w.Step, Outcome: report.Outcome, Code: report.Failure.Code, Result: report.Result})
		}
		if report.Outcome != phonebooth.OutcomeDone {
			message := fmt.Sprintf("step %d of %d: %s", w.Step, w.Steps, report.Failure.Message)
			report.Failure.Message = runner.Clean(message, runner.MaxMessageBytes)
			break
		}
	}
	report.Result = all.encode()
	return report
}

// encode is r as JSON. When it is longer than a result may be, the steps' own results are left out.
func (r result) encode() json.RawMessage {
	text, err := json.Marshal(r)
	if err == nil && len(text) <= runner.MaxResultBytes {
		return text
	}
	for i := range r.Steps {
		r.Steps[i].Result = nil
	}
	if text, err = json.Marshal(r); err != nil {
		return nil // numbers and short names always encode
	}
	return text
}
