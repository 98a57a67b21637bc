package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// Run is the workflow-execution entry point: it has execute work on the steps of d, strictly in order, w being the same for
// all but for what the steps themselves say. The report's result is a [v1.WorkflowResult] with every step in it.
//
// A step that fails, after as many tries as it may have, ends the workflow failed with its code and message, unless the step
// says to continue; after it only steps run whose condition allows that. The workflow ends at once, and no other step runs,
// when ctx ends, when the time of the attempt is up, and when a step ends otherwise than done or failed: the device or
// the right to use it is lost, or the caller wants out.
func Run(ctx context.Context, d Definition, w runner.Work, execute runner.Execute) phonebooth.Report {
	inputs, err := d.Bind(w.Inputs)
	if err != nil {
		return runner.Failed("invalid_task", messageOf(err))
	}
	p := &passage{definition: d, work: w, execute: execute, values: scope{inputs: inputs, steps: map[string]map[string]string{}}}
	p.values.env = fillAll(d.Env, p.values)
	for i := range d.Steps {
		p.results = append(p.results, p.step(ctx, i))
	}
	report := p.report()
	report.Result = encode(p.results)
	return report
}

// passage is one way through a workflow.
type passage struct {
	definition Definition
	work       runner.Work // what all steps have in common
	execute    runner.Execute
	values     scope // env is the definition's

	results []v1.StepResult
	last    phonebooth.Report  // of the last step that was begun
	failure *phonebooth.Report // of the first step with which the workflow fails
	over    *phonebooth.Report // what ended the workflow at once
}

// report is how the whole ended.
func (p *passage) report() phonebooth.Report {
	switch {
	case p.over != nil && (p.failure == nil || p.over.Outcome != phonebooth.OutcomeAbandoned || hostsOwn(*p.over)):
		return *p.over
	case p.failure != nil: // it stands, whatever a later step lost: trying again would begin with what has failed
		return *p.failure
	}
	return phonebooth.Report{Outcome: phonebooth.OutcomeDone, Runner: p.last.Runner, Fence: p.last.Fence}
}

// hostsOwn reports whether a step was given back for what its host did, and not for what the step met.
func hostsOwn(r phonebooth.Report) bool {
	switch runner.Did(r.Failure.Code) {
	case runner.Fenced, runner.Stopping, runner.Restarted:
		return true
	}
	return false
}

// step brings step i to its end, unless it is not to be begun.
func (p *passage) step(ctx context.Context, i int) v1.StepResult {
	step := p.definition.Steps[i]
	result := v1.StepResult{
		ID: p.definition.id(i), Name: step.Name, Uses: step.uses(), Status: v1.StepSkipped, ContinueOnError: step.ContinueOnError,
	}
	if p.over != nil || !step.If.met(p.failure != nil) {
		return result
	}
	if did := runner.DidOf(ctx); did != runner.Nothing {
		p.end(i, p.stopped(did))
		return result
	}
	work, err := p.workOf(i)
	var ended phonebooth.Report
	if err != nil {
		ended = runner.Failed("invalid_task", messageOf(err))
	} else {
		ended = p.tries(ctx, work, step.Retry, &result)
	}
	result.Status, result.Code, result.Message, result.Result = statusOf(ended), ended.Failure.Code, ended.Failure.Message, ended.Result
	p.values.steps[result.ID] = result.Outputs
	if ended.Outcome == phonebooth.OutcomeFailed && p.over == nil && !step.ContinueOnError && p.failure == nil {
		p.failure = p.at(i, ended)
	}
	if p.over != nil {
		p.end(i, *p.over)
	}
	return result
}

// tries has work done until it does not fail, or has failed once more than retry, and notes in result what it took. The
// report is the last try's; when nothing may follow it, p.over is set to how the workflow ends.
func (p *passage) tries(ctx context.Context, work runner.Work, retry int, result *v1.StepResult) phonebooth.Report {
	for {
		if result.Tries++; result.Tries > 1 {
			work.Try = result.Tries
		}
		ended := p.execute(ctx, work)
		addLog(result, ended.Log)
		result.DurationMS += ended.Took.Milliseconds()
		result.Outputs = ended.Outputs
		p.last = ended.Report
		switch {
		case ended.Outcome == phonebooth.OutcomeDone:
			return ended.Report
		case ended.Outcome != phonebooth.OutcomeFailed || ended.Over:
			p.over = &ended.Report
			return ended.Report
		case result.Tries > retry:
			return ended.Report
		}
		if did := runner.DidOf(ctx); did != runner.Nothing { // between two tries
			stopped := p.stopped(did)
			p.over = &stopped
			return stopped
		}
	}
}

// addLog makes the result's section of the log reach from its first try to its last.
func addLog(result *v1.StepResult, section runner.Section) {
	if section == (runner.Section{}) { // nothing was started
		return
	}
	if result.LogBytes == 0 {
		result.LogOffset = section.Offset
	}
	result.LogBytes = section.Offset + section.Bytes - result.LogOffset
}

// stopped is the report of a workflow that was stopped while nothing ran.
func (p *passage) stopped(did runner.Did) phonebooth.Report {
	report := did.Report()
	report.Runner, report.Fence = p.last.Runner, p.last.Fence
	return report
}

// end ends the workflow at step i with report.
func (p *passage) end(i int, report phonebooth.Report) { p.over = p.at(i, report) }

// at is a step's report as the workflow's own: it says at which step.
func (p *passage) at(i int, report phonebooth.Report) *phonebooth.Report {
	id := ""
	if own := p.definition.id(i); own != defaultID(i) {
		id = " (" + own + ")"
	}
	message := fmt.Sprintf("step %d of %d%s: %s", i+1, len(p.definition.Steps), id, report.Failure.Message)
	report.Failure.Message = runner.Clean(message, runner.MaxMessageBytes)
	return &report
}

// statusOf is the status of a step that was begun.
func statusOf(r phonebooth.Report) string {
	switch {
	case r.Outcome == phonebooth.OutcomeDone:
		return v1.StepDone
	case r.Outcome == phonebooth.OutcomeCancelled:
		return v1.StepCancelled
	}
	switch runner.Did(r.Failure.Code) {
	case runner.Fenced, runner.Stopping, runner.Restarted: // the step itself did nothing wrong
		return v1.StepCancelled
	}
	return v1.StepFailed
}

// messageOf is what a refusal says to people.
func messageOf(err error) string {
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok {
		return refusal.Message
	}
	return "the workflow cannot be run with this task"
}
