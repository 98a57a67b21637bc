package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

var done = phonebooth.Report{Outcome: phonebooth.OutcomeDone, Runner: "fake", Fence: "gate"}

// script answers each piece of work with the next report and keeps what it was asked.
func script(asked *[]runner.Work, reports ...phonebooth.Report) runner.Execute {
	return func(_ context.Context, w runner.Work) runner.Ended {
		*asked = append(*asked, w)
		return runner.Ended{Report: reports[len(*asked)-1]}
	}
}

// parsed is a definition with the given text after its name.
func parsed(t testing.TB, rest string) workflow.Definition {
	t.Helper()
	d, err := workflow.Parse(head + rest)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fataler is a test, of this or of package rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stepsOf is the result that a workflow leaves.
func stepsOf(t fataler, r phonebooth.Report) []v1.StepResult {
	t.Helper()
	var result v1.WorkflowResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatalf("the result %.200s: %v", r.Result, err)
	}
	return result.Steps
}

// statuses is how the steps of a workflow ended.
func statuses(t testing.TB, r phonebooth.Report) string {
	t.Helper()
	var all []string
	for _, s := range stepsOf(t, r) {
		all = append(all, s.Status)
	}
	return strings.Join(all, " ")
}

func TestStepsRunInOrderUnderOneLease(t *testing.T) {
	t.Parallel()
	d := parsed(t, `steps:
  - one
  - {uses: shot, with: {goal: two, size: 3}, timeout-minutes: 2}
  - {id: last, run: three}
`)
	var asked []runner.Work
	base := runner.Work{TaskID: "task_1", Attempt: 3, Serial: "s", PortBase: 20000}
	got := workflow.Run(t.Context(), d, base, script(&asked, done, done, done))
	if got.Outcome != phonebooth.OutcomeDone || got.Runner != "fake" || got.Fence != "gate" || got.Failure != (phonebooth.Failure{}) {
		t.Errorf("report = %+v, want done by fake", got)
	}
	work := func(step int, id string) runner.Work {
		w := base
		w.Step, w.Steps, w.StepID = step, 3, id
		return w
	}
	want := []runner.Work{work(1, "step-1"), work(2, "step-2"), work(3, "last")}
	want[0].Goal = "one"
	want[1].Goal, want[1].Runner, want[1].With, want[1].Timeout = "two", "shot", map[string]string{"size": "3"}, 2*time.Minute
	want[2].Goal, want[2].Runner = "three", "shell"
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}

func TestEachStepIsInTheResult(t *testing.T) {
	t.Parallel()
	d := parsed(t, `steps:
  - {id: a, name: The first, goal: one, retry: 1}
  - {uses: shot, continue-on-error: true}
  - {run: three, if: failure}
`)
	failed := runner.Failed("own_code", "no such button")
	answers := []runner.Ended{
		{Report: failed, Log: runner.Section{Offset: 10, Bytes: 5}, Took: time.Second, Outputs: map[string]string{"x": "1"}},
		{
			Report: phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: []byte(`{"n":1}`)}, Log: runner.Section{Offset: 15, Bytes: 7},
			Took: 2 * time.Second, Outputs: map[string]string{"x": "2"},
		},
		{Report: failed, Log: runner.Section{Offset: 22, Bytes: 1}, Took: time.Millisecond},
	}
	var tries []int
	got := workflow.Run(t.Context(), d, runner.Work{}, func(_ context.Context, w runner.Work) runner.Ended {
		tries = append(tries, w.Try)
		return answers[len(tries)-1]
	})
	want := []v1.StepResult{
		{
			ID: "a", Name: "The first", Status: v1.StepDone, Tries: 2, DurationMS: 3000, Outputs: map[string]string{"x": "2"},
			LogOffset: 10, LogBytes: 12, Result: []byte(`{"n":1}`),
		},
		{
			ID: "step-2", Uses: "shot", Status: v1.StepFailed, Code: "own_code", Message: "no such button", Tries: 1, DurationMS: 1,
			LogOffset: 22, LogBytes: 1, ContinueOnError: true,
		},
		{ID: "step-3", Uses: "shell", Status: v1.StepSkipped},
	}
	if diff := cmp.Diff(want, stepsOf(t, got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if got.Outcome != phonebooth.OutcomeDone || !slices.Equal(tries, []int{0, 2, 0}) {
		t.Errorf("%s with tries %v, want done with 0, 2 and 0", got.Outcome, tries)
	}
}

func TestTheFirstFailureIsTheWorkflowsAndSaysAtWhichStep(t *testing.T) {
	t.Parallel()
	d := parsed(t, `steps:
  - one
  - {id: press, goal: two}
  - three
  - {goal: four, if: failure}
  - {goal: five, if: always}
`)
	var asked []runner.Work
	got := workflow.Run(t.Context(), d, runner.Work{}, script(&asked, done, runner.Failed("runner_failed", "no such button"), done, runner.Failed("other", "x")))
	if got.Outcome != phonebooth.OutcomeFailed || got.Failure.Code != "runner_failed" || got.Failure.Message != "step 2 of 5 (press): no such button" {
		t.Errorf("report = %+v, want the failure of step 2", got)
	}
	if s := statuses(t, got); s != "done failed skipped done failed" {
		t.Errorf("steps are %s, want done failed skipped done failed", s)
	}
}

func TestNothingFollowsTheLossOfTheDeviceOrACancellation(t *testing.T) {
	t.Parallel()
	d := parsed(t, `steps:
  - one
  - {goal: two, continue-on-error: true, retry: 3}
  - {goal: three, if: always}
`)
	for _, c := range []struct {
		second phonebooth.Report
		status string
	}{
		{runner.GivenBack("device_lost", "gone"), "failed"},
		{runner.GivenBack("try_again", "later"), "failed"},
		{runner.Cancelled.Report(), "cancelled"},
		{runner.Fenced.Report(), "cancelled"},
		{runner.Stopping.Report(), "cancelled"},
		{runner.Restarted.Report(), "cancelled"},
	} {
		var asked []runner.Work
		got := workflow.Run(t.Context(), d, runner.Work{}, script(&asked, done, c.second))
		if got.Outcome != c.second.Outcome || got.Failure.Code != c.second.Failure.Code ||
			got.Failure.Message != "step 2 of 3: "+c.second.Failure.Message || len(asked) != 2 {
			t.Errorf("%s: %+v after %d steps, want it at step 2 of 3", c.second.Failure.Code, got, len(asked))
		}
		if s := statuses(t, got); s != "done "+c.status+" skipped" {
			t.Errorf("%s: steps are %s, want done %s skipped", c.second.Failure.Code, s, c.status)
		}
	}
}

func TestAStepsTimeoutIsItsFailureAndTheAttemptsEndsAll(t *testing.T) {
	t.Parallel()
	d := parsed(t, "steps: [{goal: one, retry: 1}, {goal: two, if: always}]\n")
	for _, c := range []struct {
		name string
		over bool
		want string
	}{
		{"the step's", false, "failed done"},
		{"the attempt's", true, "failed skipped"},
	} {
		reports := []phonebooth.Report{runner.StepTime.Report(), runner.StepTime.Report(), done}
		got := workflow.Run(t.Context(), d, runner.Work{}, func(context.Context, runner.Work) runner.Ended {
			report := reports[0]
			reports = reports[1:]
			return runner.Ended{Report: report, Over: c.over}
		})
		if s := statuses(t, got); s != c.want || got.Outcome != phonebooth.OutcomeFailed || got.Failure.Code != "timeout" {
			t.Errorf("%s: %+v with %s, want a timeout with %s", c.name, got.Failure, s, c.want)
		}
	}
}

func TestCancelWorksBetweenStepsAndBetweenTries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, steps, want string
		first             phonebooth.Report
	}{
		{"steps", "[one, {goal: two, if: always}]", "done skipped", done},
		{"tries", "[{goal: one, retry: 5}, {goal: two, if: always}]", "cancelled skipped", runner.Failed("runner_failed", "no")},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		got := workflow.Run(ctx, parsed(t, "steps: "+c.steps+"\n"), runner.Work{}, func(context.Context, runner.Work) runner.Ended {
			calls++
			cancel(runner.Cancelled)
			return runner.Ended{Report: c.first}
		})
		if got.Outcome != phonebooth.OutcomeCancelled || calls != 1 || statuses(t, got) != c.want {
			t.Errorf("between %s: %s with %s after %d calls, want cancelled with %s after one", c.name, got.Outcome, statuses(t, got), calls, c.want)
		}
	}
}

func TestAWorkflowWhoseLastStepIsDoneIsDoneHoweverLateItIs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	got := workflow.Run(ctx, parsed(t, "steps: [one, {goal: two, if: failure}]\n"), runner.Work{}, func(context.Context, runner.Work) runner.Ended {
		cancel(runner.Cancelled)
		return runner.Ended{Report: done}
	})
	if got.Outcome != phonebooth.OutcomeDone {
		t.Errorf("report = %+v, want done: nothing was left to do", got)
	}
}

func TestValuesComeIntoGoalsArgumentsAndVariables(t *testing.T) {
	t.Parallel()
	d := parsed(t, `inputs:
  room: {required: true}
  level: {default: "3"}
env:
  ROOM: ${{ inputs.room }}
  BOTH: one
steps:
  - id: find
    goal: find ${{ env.ROOM }} at ${{inputs.level}}, $${{ costs }}
    env: {BOTH: two}
  - uses: tap
    with: {goal: "${{ steps.find.outputs.x }}", y: "${{ steps.find.outputs.y }}${{ steps.find.outputs.none }}!"}
  - run: echo "$ROOM"
    env: {WHERE: "${{ steps.find.outputs.x }}"}
`)
	var asked []runner.Work
	sly := "${{ inputs.level }}\n$(id) 📱"
	inputs := json.RawMessage(fmt.Sprintf(`{"room":%q}`, sly))
	workflow.Run(t.Context(), d, runner.Work{Inputs: inputs, Env: []string{"HOST=a"}}, func(_ context.Context, w runner.Work) runner.Ended {
		asked = append(asked, w)
		return runner.Ended{Report: done, Outputs: map[string]string{"x": "-5", "y": "7"}}
	})
	type given struct {
		Goal     string
		Composed bool
		With     map[string]string
		Env      []string
	}
	var got []given
	for _, w := range asked {
		got = append(got, given{w.Goal, w.Composed, w.With, w.Env})
		if string(w.Inputs) != string(inputs) {
			t.Errorf("step %d has the inputs %s, want the task's", w.Step, w.Inputs)
		}
	}
	want := []given{
		{"find " + sly + " at 3, ${{ costs }}", true, nil, []string{"HOST=a", "BOTH=two", "ROOM=" + sly}},
		{"-5", true, map[string]string{"y": "7!"}, []string{"HOST=a", "BOTH=one", "ROOM=" + sly}},
		{`echo "$ROOM"`, false, nil, []string{"HOST=a", "BOTH=one", "ROOM=" + sly, "WHERE=-5"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}

func TestValuesThatNoProgramCanTakeFailTheStep(t *testing.T) {
	t.Parallel()
	many := "env: {A: '${{ steps.a.outputs.x }}', B: '${{ steps.a.outputs.x }}', C: '${{ steps.a.outputs.x }}', D: '${{ steps.a.outputs.x }}', E: '${{ steps.a.outputs.x }}', F: '${{ steps.a.outputs.x }}'}"
	long := strings.Repeat("x", 100<<10)
	for name, c := range map[string]struct{ step, value, want string }{
		"an empty goal":  {"{goal: '${{ steps.a.outputs.x }}'}", " ", "the step's goal is empty"},
		"a NUL":          {"{goal: b, env: {V: '${{ steps.a.outputs.x }}'}}", "a\x00b", "V in the step's env holds a NUL byte"},
		"a long goal":    {"{goal: '${{ steps.a.outputs.x }}!'}", long, "the step's goal is longer than 102400 bytes"},
		"a long with":    {"{uses: b, with: {c: '${{ steps.a.outputs.x }}!'}}", long, "c in the step's with is longer than"},
		"all of it":      {"{goal: b, " + many + "}", long, "longer than 524288 bytes together"},
		"a broken value": {"{goal: '${{ steps.a.outputs.x }}'}", "\xff", "not valid UTF-8"},
	} {
		d := parsed(t, "steps: [{id: a, goal: a}, "+c.step+", {goal: last, if: always}]\n")
		calls := 0
		got := workflow.Run(t.Context(), d, runner.Work{}, func(context.Context, runner.Work) runner.Ended {
			calls++
			return runner.Ended{Report: done, Outputs: map[string]string{"x": c.value}}
		})
		if got.Failure.Code != "invalid_task" || !strings.Contains(got.Failure.Message, c.want) || statuses(t, got) != "done failed done" || calls != 2 {
			t.Errorf("%s: %+v, %s, want invalid_task: %s", name, got.Failure, statuses(t, got), c.want)
		}
	}
}

func TestS1_4_InputsAreWhatTheDefinitionDeclares(t *testing.T) {
	t.Parallel()
	d := parsed(t, "inputs: {room: {required: true}, level: {default: 3}, note: }\nsteps: [a]\n")
	for _, c := range []struct{ inputs, pointer, want string }{
		{`{"room":"a","colour":"b"}`, "/workflow/inputs/colour", "the workflow has no such input; it has: level, note, room"},
		{`{"room":"a","a/b":"b"}`, "/workflow/inputs", "no such input"},
		{`{}`, "/workflow/inputs/room", "the workflow requires the input room"},
		{``, "/workflow/inputs/room", "requires"},
		{`{"room":7}`, "/workflow/inputs/room", "the workflow's input room must be a string"},
		{`{"room":null}`, "/workflow/inputs/room", "must be a string"},
		{`{"room":"\u0000"}`, "/workflow/inputs/room", "NUL"},
		{`{"room":"` + strings.Repeat("x", 100<<10+1) + `"}`, "/workflow/inputs/room", "longer than 102400 bytes"},
		{`[]`, "/workflow/inputs", "must be an object"},
	} {
		_, err := d.Bind(json.RawMessage(c.inputs))
		refusal, ok := err.(*phonebooth.Error)
		if !ok || refusal.Code != "invalid" || refusal.Detail["pointer"] != c.pointer || !strings.Contains(refusal.Message, c.want) {
			t.Errorf("%.50s: %v at %v, want %s at %s", c.inputs, err, refusal, c.want, c.pointer)
		}
		if got := workflow.Run(t.Context(), d, runner.Work{Inputs: []byte(c.inputs)}, nil); got.Failure.Code != "invalid_task" {
			t.Errorf("%.50s: run ends %+v, want invalid_task", c.inputs, got)
		}
	}
	got, err := d.Bind([]byte(`{"room":"","note":"n"}`))
	if diff := cmp.Diff(map[string]string{"room": "", "level": "3", "note": "n"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestALongResultLosesItsLongestPartsAndNoStatus(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n<<10) }
	long := func(n int) runner.Ended {
		return runner.Ended{Report: phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: []byte(`"` + text(n) + `"`)}}
	}
	failed := runner.Ended{Report: runner.Failed("c", strings.Repeat("\x01", 4000)), Outputs: map[string]string{"o": text(100)}}
	for _, c := range []struct {
		name                      string
		first, others             runner.Ended
		results, outputs, message int // how many steps still have them
	}{
		{"one result is too much", long(500), long(2), 9, 0, 0},
		{"results before outputs", runner.Ended{Report: done, Outputs: map[string]string{"o": text(400)}}, long(20), 5, 1, 0},
		{"messages are cut", failed, failed, 0, 0, 99},
	} {
		d := workflow.Definition{Steps: make([]workflow.Step, 10)}
		if c.message > 0 {
			d.Steps = make([]workflow.Step, 99)
		}
		for i := range d.Steps {
			d.Steps[i] = workflow.Step{Goal: "g", ContinueOnError: true}
		}
		got := workflow.Run(t.Context(), d, runner.Work{}, func(_ context.Context, w runner.Work) runner.Ended {
			if w.Step == 1 {
				return c.first
			}
			return c.others
		})
		results, outputs, messages := 0, 0, 0
		for _, s := range stepsOf(t, got) {
			if s.Status == "" {
				t.Errorf("%s: a step without a status", c.name)
			}
			results, outputs, messages = results+min(len(s.Result), 1), outputs+len(s.Outputs), messages+min(len(s.Message), 1)
		}
		if len(got.Result) > runner.MaxResultBytes || results != c.results || outputs != c.outputs || messages != c.message {
			t.Errorf("%s: %d bytes with %d results, %d outputs, %d messages, want at most %d with %d, %d and %d",
				c.name, len(got.Result), results, outputs, messages, runner.MaxResultBytes, c.results, c.outputs, c.message)
		}
	}
}
