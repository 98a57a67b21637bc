package workflow_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// tried is one call of the task-execution entry point, as the model foresees it.
type tried struct{ step, try int }

// foretell is the rules of a workflow once more, as short as they can be said: which steps run how often, how each ends, and
// how the whole does. answers has for each step what its tries come to, and stop after how many tries the task is cancelled.
func foretell(steps []workflow.Step, answers [][]string, stop int) (calls []tried, statuses []string, whole string) {
	whole = "done"
	over := false
	for i, step := range steps {
		status := "skipped"
		failed := whole != "done"
		runs := step.If == workflow.Always || (step.If == workflow.Failure) == failed
		if !over && runs && len(calls) >= stop {
			over, whole = true, "cancelled"
		}
		for try := 0; !over && runs; try++ {
			calls = append(calls, tried{i + 1, try})
			answer := answers[i][try]
			if status = answer; answer == "device_lost" {
				status = "failed"
			}
			if answer == "done" || answer == "failed" && try == step.Retry {
				break
			}
			if answer != "failed" {
				over = true
				if !failed || answer != "device_lost" { // what has failed stands, whatever is lost afterwards
					whole = answer
				}
			} else if len(calls) >= stop {
				over, whole, status = true, "cancelled", "cancelled"
			}
		}
		if !over && status == "failed" && !step.ContinueOnError {
			whole = "failed"
		}
		statuses = append(statuses, status)
	}
	return calls, statuses, whole
}

func TestAnyWorkflowGoesAsTheRulesSay(t *testing.T) {
	t.Parallel()
	reports := map[string]phonebooth.Report{
		"done": done, "failed": runner.Failed("failed", ""), "device_lost": runner.GivenBack("device_lost", ""), "cancelled": runner.Cancelled.Report(),
	}
	rapid.Check(t, func(t *rapid.T) {
		var steps []workflow.Step
		var answers [][]string
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			steps = append(steps, workflow.Step{
				Goal: "g", If: rapid.SampledFrom([]workflow.Condition{"", workflow.Success, workflow.Failure, workflow.Always}).Draw(t, "if"),
				ContinueOnError: rapid.Bool().Draw(t, "continue"), Retry: rapid.IntRange(0, 2).Draw(t, "retry"),
			})
			answer := rapid.SampledFrom([]string{"done", "done", "failed", "failed", "failed", "device_lost", "cancelled"})
			answers = append(answers, rapid.SliceOfN(answer, 3, 3).Draw(t, "answers"))
		}
		stop := rapid.SampledFrom([]int{1, 2, 3, 100, 100, 100}).Draw(t, "stop")

		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		var calls []tried
		got := workflow.Run(ctx, workflow.Definition{Steps: steps}, runner.Work{}, func(_ context.Context, w runner.Work) runner.Ended {
			calls = append(calls, tried{w.Step, max(w.Try-1, 0)})
			if len(calls) >= stop {
				cancel(runner.Cancelled)
			}
			return runner.Ended{Report: reports[answers[w.Step-1][max(w.Try-1, 0)]]}
		})
		whole := string(got.Outcome)
		if got.Outcome == phonebooth.OutcomeAbandoned {
			whole = got.Failure.Code
		}
		var statuses []string
		for _, s := range stepsOf(t, got) {
			statuses = append(statuses, s.Status)
		}
		wantCalls, wantStatuses, wantWhole := foretell(steps, answers, stop)
		if diff := cmp.Diff(wantCalls, calls, cmp.AllowUnexported(tried{})); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantStatuses, statuses); diff != "" || whole != wantWhole {
			t.Errorf("%s, want %s; steps (-want +got):\n%s", whole, wantWhole, diff)
		}
	})
}
