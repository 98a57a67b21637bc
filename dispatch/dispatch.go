// Package dispatch runs assignments on the host that owns their device.
//
// A [Dispatcher] belongs to one host and composes two entry points: one that executes a task's goal, one that executes a
// workflow. It decides which of them an assignment needs, and refuses the assignments of other hosts. It plans nothing,
// executes nothing and retries nothing itself (spec S4): who calls it has the right to use the device, and keeps it.
//
// The Host Agent dispatches what it has claimed under a lease. A program that embeds a host may call Dispatch directly for
// devices of its own that are in no pool:
//
//	d, err := dispatch.New(host, execute, workflow.Run)
//	report, err := d.Dispatch(ctx, dispatch.Assignment{HostID: host, Work: work})
//
// Work for another host goes through the control plane's claims, never through a dispatcher.
//
// A Dispatcher may be used by any number of goroutines at the same time; one device is driven by one assignment at a time
// only if the caller sees to it.
package dispatch

import (
	"context"
	"errors"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// Workflow is the workflow-execution entry point; [workflow.Run] is one. It executes d by calling execute for its steps.
type Workflow func(ctx context.Context, d workflow.Definition, w runner.Work, execute runner.Execute) phonebooth.Report

// Assignment is one attempt at a task, bound to a device.
type Assignment struct {
	HostID phonebooth.HostID // that owns the device

	// Work is what is to be done. Its Goal is the task's, and empty for a workflow.
	Work runner.Work
	// Workflow is what a task without a goal runs.
	Workflow *workflow.Definition
}

// Dispatcher runs the assignments of one host.
type Dispatcher struct {
	host     phonebooth.HostID
	execute  runner.Execute
	workflow Workflow
}

// New makes the dispatcher of host out of the two entry points.
func New(host phonebooth.HostID, execute runner.Execute, workflow Workflow) (*Dispatcher, error) {
	if host == "" || execute == nil || workflow == nil {
		return nil, errors.New("a dispatcher needs a host and both entry points")
	}
	return &Dispatcher{host: host, execute: execute, workflow: workflow}, nil
}

// Dispatch runs a to its end and reports how that was: the outcome of the run, unchanged. When ctx ends the run is stopped;
// the cause of ctx, a [runner.Did], says why.
//
// The error is a refusal, after which nothing was touched: code not_local for another host's assignment, code invalid for
// one that has neither a goal nor a workflow, or both.
func (d *Dispatcher) Dispatch(ctx context.Context, a Assignment) (phonebooth.Report, error) {
	switch {
	case a.HostID != d.host:
		return phonebooth.Report{}, phonebooth.Errorf(phonebooth.Conflict, "not_local",
			"the assignment's device belongs to another host; only that host's agent may run it, after it has claimed it")
	case (a.Work.Goal == "") == (a.Workflow == nil):
		return phonebooth.Report{}, phonebooth.Errorf(phonebooth.Invalid, "invalid", "an assignment has either a goal or a workflow")
	case a.Workflow != nil:
		return d.workflow(ctx, *a.Workflow, a.Work, d.execute), nil
	}
	return d.execute(ctx, a.Work).Report, nil
}
