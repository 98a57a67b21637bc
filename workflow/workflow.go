// Package workflow reads workflow definitions and runs their steps in order.
//
// A definition is YAML, a strict subset of how GitHub Actions writes steps:
//
//	version: steps/v1
//	name: dark-mode
//	inputs:
//	  room: {default: Kitchen}
//	steps:
//	  - open Settings
//	  - id: shot
//	    uses: screenshot
//	    if: always
//	  - run: echo "$ROOM"
//	    env:
//	      ROOM: ${{ inputs.room }}
//
// A step is a goal for the task's runner, a runner by name (uses) or a script for the shell runner (run). [Parse] reads a
// definition and refuses everything else, with the line and the column; [Check] finds all that is wrong. [Run] hands one step
// after the other to the task-execution entry point, under the lease of the one attempt, and decides which of them run and how
// the whole ends. It starts nothing itself and stores nothing.
//
// Values of callers and of earlier steps come into a step through references, see [Text]: they become arguments, variables
// and goals, and never part of a script.
//
// Everything here is safe for any number of goroutines.
package workflow

import (
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Version is the one version of the grammar.
const Version = "steps/v1"

// Limits of a definition, and of what its steps are given.
const (
	MaxSourceBytes = 512 << 10
	MaxSteps       = 100
	MaxFields      = 64                      // of inputs, of with and of env, each
	MaxNameBytes   = 255                     // of a step's name
	MaxValueBytes  = phonebooth.MaxGoalBytes // of a goal, a script, an input, a value of with and of env
	MaxWorkBytes   = 512 << 10               // of a step's goal, with and env together, with the values in their places
	MaxRetry       = 10
	MaxStepTimeout = phonebooth.MaxTimeout
)

// Shell is the runner of steps that have run.
const Shell = "shell"

// Definition is a workflow: named steps in order, the inputs that a task may give it, and variables for all steps.
type Definition struct {
	Name   string
	Inputs map[string]Input
	Env    map[string]Text // may refer to inputs
	Steps  []Step
}

// Input is a string that a task gives to a workflow by name.
type Input struct {
	Description string
	Required    bool   // the task must give it; else it may, and Default stands for it
	Default     string // no reference
}

// Step is one piece of work on the device. Exactly one of Goal, Uses and Run is set.
type Step struct {
	ID   string // unique; "": step-N, N counting from 1
	Name string // for people

	Goal Text            // for the task's runner
	Uses string          // a runner, by name
	With map[string]Text // its inputs; "goal" is its goal
	Run  string          // a script for the runner [Shell]; no reference

	Env             map[string]Text // on top of the definition's; may refer to inputs, the definition's env and earlier steps
	If              Condition
	ContinueOnError bool          // the workflow does not fail with it
	Timeout         time.Duration // of one try; 0: none but the task's
	Retry           int           // how often it is tried again when it fails
}

// Condition says whether a step runs. A step that failed without ContinueOnError is what it asks about.
type Condition string

// The conditions.
const (
	Success Condition = "success" // no earlier step has failed; so does ""
	Failure Condition = "failure" // one has
	Always  Condition = "always"
)

// met reports whether a step with c runs when an earlier one has failed, or when none has.
func (c Condition) met(failed bool) bool {
	switch c {
	case Always:
		return true
	case Failure:
		return failed
	}
	return !failed
}

// id is the name of step i, counted from 0.
func (d Definition) id(i int) string {
	if id := d.Steps[i].ID; id != "" {
		return id
	}
	return defaultID(i)
}

func defaultID(i int) string { return fmt.Sprintf("step-%d", i+1) }
