package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/dispatch"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// dispatched hands the attempt to the dispatcher, whose entry points end in a process under a minder.
func (a *Agent) dispatched(ctx context.Context, l *lease) phonebooth.Report {
	due := l.begun + milliseconds(l.Task.TimeoutMS)
	work := workOf(l.Assignment)
	work.DriverType, work.Serial = l.device.seen.DriverType, l.device.seen.Name
	work.PortBase = runner.FirstPort + l.device.slot*runner.PortsPerSlot
	work.Deadline = time.Now().Add(due - a.now())

	a.pool.handle(l.key(), func(h *lifecycle.Hands) { h.Process = true })
	l.ran = true
	return a.dispatch(ctx, l.Assignment, work, runner.Until(a.execute(l), a.now, due, runner.TimedOut))
}

// execute is the task-execution entry point of a lease: it chooses the runner for one goal and has it work within its limits.
func (a *Agent) execute(l *lease) runner.Execute {
	return func(ctx context.Context, w runner.Work) runner.Ended {
		chosen, err := a.runners.Choose(w.DriverType, cmp.Or(w.Runner, l.Task.Runner))
		switch {
		case err != nil:
			return runner.Ended{Report: runner.Failed("runner_missing", messageOf(err))}
		case w.Composed && chosen.ShellGoal:
			return runner.Ended{Report: runner.Failed("invalid_task", "the goal of "+chosen.Name+" is read by a shell, so no values can be put into it; pass them in env")}
		}
		run := runner.Named(a.launch(l, chosen), chosen)
		for _, limit := range []time.Duration{w.Timeout, chosen.Limits.Timeout} {
			if limit > 0 {
				run = runner.Until(run, a.now, a.now()+limit, runner.StepTime)
			}
		}
		return run(ctx, w)
	}
}

// dispatch runs what an assignment asks for through the host's dispatcher, with execute as the task-execution entry point.
func (a *Agent) dispatch(ctx context.Context, assignment v1.Assignment, work runner.Work, execute runner.Execute) phonebooth.Report {
	local := dispatch.Assignment{HostID: a.host, Work: work}
	if assignment.Task.Workflow != nil {
		flow, err := workflow.Parse(assignment.Task.WorkflowSource)
		if err != nil {
			return runner.Failed("invalid_task", messageOf(err))
		}
		local.Workflow = &flow
	}
	d, err := dispatch.New(a.host, execute, workflow.Run)
	if err != nil {
		return runner.Failed("runner_misconfigured", messageOf(err))
	}
	report, err := d.Dispatch(ctx, local)
	if err != nil {
		return runner.Failed("invalid_task", messageOf(err))
	}
	return report
}

// workOf is what an assignment itself says of the work.
func workOf(assignment v1.Assignment) runner.Work {
	task := assignment.Task
	return runner.Work{
		TaskID: phonebooth.TaskID(task.ID), Attempt: assignment.Attempt, Goal: task.Goal, Inputs: task.Inputs, Labels: task.Labels,
		DeviceID: phonebooth.DeviceID(assignment.DeviceID),
	}
}

// messageOf is what an error says to people; of an error that is not for them, nothing.
func messageOf(err error) string {
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok {
		return refusal.Message
	}
	return "the runner cannot be used for this task"
}
