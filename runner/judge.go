package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
)

// Did is what was done to a program from outside. It is an error so that it can be the cause of a context's end.
type Did string

// What a host does to a runner, and what the report says of it.
const (
	Nothing   Did = ""
	Cancelled Did = "cancelled"       // on request
	TimedOut  Did = "timeout"         // the attempt's time was up
	StepTime  Did = "step_timeout"    // the time of the step, or of its runner, was up
	Fenced    Did = "fenced"          // the lease could not be kept
	Stopping  Did = "agent_stopping"  // the host shuts down
	Restarted Did = "agent_restarted" // the host's agent died under it
	Silent    Did = "silent"          // it wrote nothing for as long as its runner may be silent
	Excess    Did = "excess"          // its files were larger than its runner's may be
)

// Error is the code and what it means.
func (d Did) Error() string { return string(d) + ": " + d.message() }

func (d Did) message() string {
	switch d {
	case Cancelled:
		return "cancelled on request"
	case TimedOut:
		return "the task's timeout has passed"
	case StepTime:
		return "the timeout of the step, or of its runner, has passed"
	case Fenced:
		return "the host could not keep the lease, so it stopped driving the device"
	case Restarted:
		return "the host's agent was restarted"
	case Silent:
		return "the runner was silent for too long: no output, no event, no heartbeat"
	case Excess:
		return "the files that the runner wrote are too large"
	}
	return "the host's agent is stopping"
}

// DidOf is why ctx has ended: Nothing while it has not, Stopping when nobody said.
func DidOf(ctx context.Context) Did {
	if ctx.Err() == nil {
		return Nothing
	}
	if did, ok := errors.AsType[Did](context.Cause(ctx)); ok {
		return did
	}
	return Stopping
}

// Report is what is said of a program to which d was done.
func (d Did) Report() phonebooth.Report {
	r := phonebooth.Report{Outcome: phonebooth.OutcomeAbandoned, Failure: phonebooth.Failure{Code: string(d), Message: d.message()}}
	switch d {
	case Cancelled:
		r.Outcome = phonebooth.OutcomeCancelled
	case TimedOut:
		r.Outcome = phonebooth.OutcomeFailed
	case Silent, StepTime:
		r.Outcome, r.Failure.Code = phonebooth.OutcomeFailed, string(TimedOut)
	case Excess:
		r.Outcome, r.Failure.Code = phonebooth.OutcomeFailed, "runner_failed"
	}
	return r
}

// Evidence is all that is known of the end of a program.
type Evidence struct {
	Did        Did                // what was done to it before it had ended by itself
	Limit      string             // for people: the limit for which it was done; "" when it was for none
	NotStarted string             // why it could not be started; "" when it was
	Gone       bool               // the device was not there any more afterwards
	Result     *phonebooth.Report // the valid result that it left, or nil
	Parsed     *phonebooth.Report // what its runner read from the end, or nil
	Exit       Exit
}

// Judge says how an attempt ended. The first that applies is the truth: what the host did, what the host saw, the
// program's own result, the runner's reading of the end, the exit code.
func Judge(e Evidence) phonebooth.Report {
	switch {
	case e.Did != Nothing:
		report := e.Did.Report()
		if e.Limit != "" {
			report.Failure.Message += " (the limit is " + e.Limit + ")"
		}
		return report
	case e.NotStarted != "":
		return Failed("runner_missing", e.NotStarted)
	case e.Gone:
		return GivenBack("device_lost", "the device was gone when the runner had ended")
	case e.Result != nil:
		return *e.Result
	case e.Parsed != nil:
		return *e.Parsed
	case e.Exit.Signal != "":
		return GivenBack("runner_killed", fmt.Sprintf("the runner was killed by %s, which the agent did not send", e.Exit.Signal))
	}
	return ByExitCode(e.Exit.Code)
}

// exits is what the contract's exit codes mean; any other is runner_failed.
var exits = map[int]struct{ code, message string }{
	0:   {"", ""},
	1:   {"runner_failed", "the runner said that the goal was not reached"},
	2:   {"invalid_task", "the runner cannot work on such a task"},
	69:  {"device_lost", "the runner lost the device"},
	75:  {"try_again", "the runner asks to be tried again"},
	77:  {"credentials", "the runner lacks credentials, or they were refused"},
	78:  {"runner_misconfigured", "the runner is not set up right on its host"},
	124: {"timeout", "the runner ran out of time"},
}

// ByExitCode reads an exit code as the contract does: 0 done; 1 failed, as any code that is not named here; 2
// invalid_task; 69 device_lost and 75 try_again, which give the attempt back; 77 credentials; 78 runner_misconfigured; 124 timeout.
func ByExitCode(code int) phonebooth.Report {
	exit, known := exits[code]
	if !known {
		exit.code, exit.message = "runner_failed", "the runner failed"
	}
	return ByName(exit.code, fmt.Sprintf("%s (exit code %d)", exit.message, code))
}

// ByName makes the report that belongs to a code: "" or "done" is done; device_lost and try_again give back; everything
// else failed.
func ByName(code, message string) phonebooth.Report {
	switch code {
	case "", "done":
		return phonebooth.Report{Outcome: phonebooth.OutcomeDone}
	case "device_lost", "try_again":
		return GivenBack(code, message)
	}
	return Failed(code, message)
}

// Failed is a report of a failure that is not tried again.
func Failed(code, message string) phonebooth.Report {
	return phonebooth.Report{Outcome: phonebooth.OutcomeFailed, Failure: phonebooth.Failure{Code: code, Message: message}}
}

// GivenBack is a report that gives the attempt back: it is tried again within the task's limit.
func GivenBack(code, message string) phonebooth.Report {
	return phonebooth.Report{Outcome: phonebooth.OutcomeAbandoned, Failure: phonebooth.Failure{Code: code, Message: message}}
}
