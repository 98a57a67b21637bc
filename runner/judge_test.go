package runner_test

import (
	"context"
	"errors"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func TestTheFirstTruthThatAppliesDecides(t *testing.T) {
	t.Parallel()
	done := &phonebooth.Report{Outcome: phonebooth.OutcomeDone}
	failed := &phonebooth.Report{Outcome: phonebooth.OutcomeFailed, Failure: phonebooth.Failure{Code: "own_code"}}
	code := func(n int) runner.Exit { return runner.Exit{Code: n} }
	killed := runner.Exit{Code: -1, Signal: "SIGKILL"}
	for _, c := range []struct {
		name     string
		evidence runner.Evidence
		outcome  phonebooth.Outcome
		code     string
	}{
		{"cancelled, whatever the program says", runner.Evidence{Did: runner.Cancelled, Gone: true, Result: done, Exit: code(0)}, "cancelled", "cancelled"},
		{"timed out", runner.Evidence{Did: runner.TimedOut, Result: done}, "failed", "timeout"},
		{"fenced", runner.Evidence{Did: runner.Fenced, Result: done}, "abandoned", "fenced"},
		{"stopping", runner.Evidence{Did: runner.Stopping, Result: failed}, "abandoned", "agent_stopping"},
		{"silent", runner.Evidence{Did: runner.Silent, Result: done}, "failed", "timeout"},
		{"too much", runner.Evidence{Did: runner.Excess, Result: done}, "failed", "runner_failed"},
		{"restarted", runner.Evidence{Did: runner.Restarted, Exit: killed}, "abandoned", "agent_restarted"},
		{"C03 the program does not exist", runner.Evidence{NotStarted: "no such program", Gone: true}, "failed", "runner_missing"},
		{"the device is gone, whatever the program says", runner.Evidence{Gone: true, Result: done, Exit: code(0)}, "abandoned", "device_lost"},
		{"its own result before the exit code", runner.Evidence{Result: failed, Exit: code(0)}, "failed", "own_code"},
		{"its own result before the parser", runner.Evidence{Result: done, Parsed: failed, Exit: code(1)}, "done", ""},
		{"the parser before the exit code", runner.Evidence{Parsed: failed, Exit: code(0)}, "failed", "own_code"},
		{"a signal that nobody sent", runner.Evidence{Exit: killed}, "abandoned", "runner_killed"},
		{"exit 0", runner.Evidence{Exit: code(0)}, "done", ""},
		{"exit 1", runner.Evidence{Exit: code(1)}, "failed", "runner_failed"},
		{"exit 2", runner.Evidence{Exit: code(2)}, "failed", "invalid_task"},
		{"exit 3", runner.Evidence{Exit: code(3)}, "failed", "runner_failed"},
		{"exit 69", runner.Evidence{Exit: code(69)}, "abandoned", "device_lost"},
		{"exit 75", runner.Evidence{Exit: code(75)}, "abandoned", "try_again"},
		{"exit 77", runner.Evidence{Exit: code(77)}, "failed", "credentials"},
		{"exit 78", runner.Evidence{Exit: code(78)}, "failed", "runner_misconfigured"},
		{"exit 124", runner.Evidence{Exit: code(124)}, "failed", "timeout"},
		{"exit 255", runner.Evidence{Exit: code(255)}, "failed", "runner_failed"},
	} {
		got := runner.Judge(c.evidence)
		if got.Outcome != c.outcome || got.Failure.Code != c.code {
			t.Errorf("%s: %s %q, want %s %q", c.name, got.Outcome, got.Failure.Code, c.outcome, c.code)
		}
	}
}

func TestTheCauseOfAContextSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	if got := runner.DidOf(ctx); got != runner.Nothing {
		t.Errorf("of a live context: %q, want nothing", got)
	}
	child, stop := context.WithCancel(ctx)
	defer stop()
	cancel(runner.TimedOut)
	if got := runner.DidOf(child); got != runner.TimedOut {
		t.Errorf("of a child of a context that timed out: %q, want %q", got, runner.TimedOut)
	}
	other, cancelOther := context.WithCancelCause(t.Context())
	cancelOther(errors.New("something else"))
	if got := runner.DidOf(other); got != runner.Stopping {
		t.Errorf("of a context that ended without a word: %q, want %q", got, runner.Stopping)
	}
}
