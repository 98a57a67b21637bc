package workflow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

const good = `# how to do it
version: steps/v1
name: dark-mode
steps:
  - open Settings
  - "turn on: dark mode"
  - |
    look at it
    again
`

func TestParse(t *testing.T) {
	t.Parallel()
	want := workflow.Definition{Name: "dark-mode", Steps: []workflow.Step{
		{Goal: "open Settings"}, {Goal: "turn on: dark mode"}, {Goal: "look at it\nagain\n"},
	}}
	for name, source := range map[string]string{
		"block": good,
		"flow":  `{version: steps/v1, name: dark-mode, steps: [open Settings, "turn on: dark mode", "look at it\nagain\n"]}`,
		"crlf":  strings.ReplaceAll(`{version: steps/v1, name: dark-mode,`+"\n"+`steps: [open Settings, "turn on: dark mode", "look at it\nagain\n"]}`, "\n", "\r\n"),
	} {
		got, err := workflow.Parse(source)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, difference (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestS1_4_AMistakeIsShownWhereItIs(t *testing.T) {
	t.Parallel()
	head := "version: steps/v1\nname: w\n"
	for _, c := range []struct{ name, source, want string }{
		{"empty", "", "line 1, column 1: the workflow is empty"},
		{"comment only", "# nothing\n", "the workflow is empty"},
		{"a list", "- a\n", "line 1, column 1: the workflow must be fields"},
		{"unknown field", head + "steps: [a]\nstep: b\n", "line 4, column 1: unknown field"},
		{"field twice", head + "name: again\nsteps: [a]\n", "line 3, column 1: this field is there twice"},
		{"other version", "version: steps/v9\nname: w\nsteps: [a]\n", "line 1, column 10: version must be steps/v1"},
		{"version as a number", "version: 1\nname: w\nsteps: [a]\n", "line 1, column 10: version must be a string"},
		{"bad name", "version: steps/v1\nname: two words\nsteps: [a]\n", "line 2, column 7: name must be"},
		{"no name", "version: steps/v1\nsteps: [a]\n", "name is missing"},
		{"no steps", head, "steps is missing"},
		{"steps as a string", head + "steps: a\n", "line 3, column 8: steps must be a list"},
		{"no step", head + "steps: []\n", "line 3, column 8: steps must be a list"},
		{"a number", head + "steps:\n  - open\n  - 7\n", "line 5, column 5: a step must be a string"},
		{"a mapping", head + "steps:\n  - goal: open\n", "line 4, column 9: a step must be a string"},
		{"an empty step", head + "steps:\n  - open\n  - ''\n", "line 5, column 5: the step's goal is empty"},
		{"null", head + "steps:\n  -\n", "a step must be a string"},
		{"an anchor", head + "steps:\n  - &a open\n  - *a\n", "line 4, column 5: a step must be a string"},
		{"two documents", head + "steps: [a]\n---\n" + head + "steps: [a]\n", "there is a second document"},
		{"a tab", head + "steps:\n\t- a\n", "line 4"},
		{"an open quote", head + "steps: [\"a]\n", "this is not YAML"},
		{"a NUL", head + "steps: [a\x00]\n", "line 3, column 10: the text holds a NUL byte"},
		{"a NUL by escape", head + "steps: [\"a\\0\"]\n", "line 3, column 9: the step's goal holds a NUL"},
		{"bad UTF-8", head + "steps: [a\xff]\n", "line 3, column 10: the text is not valid UTF-8"},
		{"too many steps", head + "steps: [" + strings.Repeat("a,", 101) + "]\n", "more than 100 steps"},
		{"too long", head + "#" + strings.Repeat("x", workflow.MaxSourceBytes), "longer than"},
		{"a long goal", head + "steps: [" + strings.Repeat("x", phonebooth.MaxGoalBytes+1) + "]\n", "line 3, column 9: the step's goal is longer"},
	} {
		_, err := workflow.Parse(c.source)
		if phonebooth.CodeOf(err) != "invalid" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want invalid: %s", c.name, err, c.want)
		}
	}
	_, err := workflow.Parse(head + "steps: [secret-\x00]\n")
	if problem, ok := errors.AsType[*phonebooth.Error](err); !ok || problem.Detail["line"] != "3" || problem.Detail["column"] == "" || strings.Contains(problem.Message, "secret") {
		t.Errorf("the mistake is %v, want line and column as details and no echo", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("{version: steps/v1, name: a, steps: [&a b, *a]}")
	f.Add("steps: !!binary |\n  aGk=\n")
	f.Fuzz(func(t *testing.T, source string) {
		d, err := workflow.Parse(source)
		if err == nil && (d.Name == "" || len(d.Steps) == 0) {
			t.Errorf("Parse(%q) = %+v, want a name and steps", source, d)
		}
		if err != nil && phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("Parse(%q) = %v, want invalid", source, err)
		}
	})
}

// script answers each step with the next report and keeps what it was asked.
func script(asked *[]runner.Work, reports ...phonebooth.Report) runner.Execute {
	return func(_ context.Context, w runner.Work) runner.Ended {
		*asked = append(*asked, w)
		return runner.Ended{Report: reports[len(*asked)-1]}
	}
}

func TestStepsRunInOrderUnderOneLease(t *testing.T) {
	t.Parallel()
	done := phonebooth.Report{Outcome: phonebooth.OutcomeDone, Runner: "fake", Result: []byte(`{"n":1}`)}
	var asked []runner.Work
	d := workflow.Definition{Name: "w", Steps: []workflow.Step{{"one"}, {"two"}}}
	got := workflow.Run(t.Context(), d, runner.Work{TaskID: "task_1", Attempt: 3}, script(&asked, done, done))
	if got.Outcome != phonebooth.OutcomeDone || got.Runner != "fake" {
		t.Errorf("report = %+v, want done by fake", got)
	}
	if want := `{"steps":[{"step":1,"outcome":"done","result":{"n":1}},{"step":2,"outcome":"done","result":{"n":1}}]}`; string(got.Result) != want {
		t.Errorf("result = %s, want %s", got.Result, want)
	}
	want := []runner.Work{
		{TaskID: "task_1", Attempt: 3, Step: 1, Steps: 2, Goal: "one"}, {TaskID: "task_1", Attempt: 3, Step: 2, Steps: 2, Goal: "two"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}

func TestTheFirstFailureEndsTheWorkflowAndSaysAtWhichStep(t *testing.T) {
	t.Parallel()
	d := workflow.Definition{Name: "w", Steps: []workflow.Step{{"one"}, {"two"}, {"three"}}}
	for _, second := range []phonebooth.Report{
		runner.Failed("runner_failed", "no such button"), runner.GivenBack("device_lost", "gone"), runner.Cancelled.Report(),
	} {
		var asked []runner.Work
		got := workflow.Run(t.Context(), d, runner.Work{}, script(&asked, phonebooth.Report{Outcome: phonebooth.OutcomeDone}, second))
		if got.Outcome != second.Outcome || got.Failure.Code != second.Failure.Code ||
			got.Failure.Message != "step 2 of 3: "+second.Failure.Message || len(asked) != 2 {
			t.Errorf("%s: %+v after %d steps, want it at step 2 of 3", second.Failure.Code, got, len(asked))
		}
	}
}

func TestNoStepBeginsOnceTheContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	var goals []string
	got := workflow.Run(ctx, workflow.Definition{Steps: []workflow.Step{{"one"}, {"two"}}}, runner.Work{},
		func(_ context.Context, w runner.Work) runner.Ended {
			goals = append(goals, w.Goal)
			cancel(runner.TimedOut)
			return runner.Ended{Report: phonebooth.Report{Outcome: phonebooth.OutcomeDone}}
		})
	if got.Outcome != phonebooth.OutcomeFailed || got.Failure.Code != "timeout" || !slices.Equal(goals, []string{"one"}) {
		t.Errorf("report = %+v after %q, want a timeout before step two", got, goals)
	}
}

func TestALongResultIsCutToTheOutcomes(t *testing.T) {
	t.Parallel()
	long := phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: []byte(`"` + strings.Repeat("x", 300<<10) + `"`)}
	var asked []runner.Work
	got := workflow.Run(t.Context(), workflow.Definition{Steps: []workflow.Step{{"one"}, {"two"}}}, runner.Work{}, script(&asked, long, long))
	if want := `{"steps":[{"step":1,"outcome":"done"},{"step":2,"outcome":"done"}]}`; string(got.Result) != want {
		t.Errorf("result = %.200s, want %s", got.Result, want)
	}
}
