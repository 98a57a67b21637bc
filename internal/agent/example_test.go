package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
	"github.com/phonebooth-dev/phonebooth/runner/schema"
)

// exampleRunners are those of the example configuration, where they are here.
func exampleRunners() (all []runner.Registration, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "examples", "runners", "agent.yaml"))
	if err != nil {
		return nil, err
	}
	var settings struct {
		Sim     int             `yaml:"sim"`
		Runners []preset.Runner `yaml:"runners"`
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "/opt/phonebooth", root)), &settings); err != nil {
		return nil, err
	}
	for _, r := range settings.Runners {
		r.OnlyByName = true // the pretender is the default of these tests
		all = append(all, r.Registration)
	}
	return all, nil
}

// needs skips t when a program is missing; where nothing may be skipped, it fails.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestExampleRunnersKeepTheContract(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	examples, err := exampleRunners()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range examples {
		t.Run(r.Name, func(t *testing.T) {
			runnertest.Run(t, runnertest.Harness{Registration: r, Really: map[string]phonebooth.Outcome{
				`say "caf\u00e9" & $(id)`: phonebooth.OutcomeDone, "-rf": phonebooth.OutcomeDone,
			}})
		})
	}
}

func TestTheExampleInPythonWorks(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	h := newHouse(t, 1, agent.Options{})
	a := h.by("example-python", "sim-1", "Open Settings. Turn on \U0001F319 dark mode!\nGo home")
	r := h.ended(t, a)
	if check(t, r, "done", ""); string(r.Result) != `{"diary": ["sim-1: Open Settings.", "sim-1: Turn on \ud83c\udf19 dark mode!", "sim-1: Go home"]}` {
		t.Errorf("result = %s", r.Result)
	}
	said := "sim-1: Open Settings.\nsim-1: Turn on \U0001F319 dark mode!\nsim-1: Go home\n"
	if got := h.kept(t, a, "diary.txt"); got[0] != said {
		t.Errorf("diary = %q", got)
	}
	h.do(func() {
		if string(a.log) != said {
			t.Errorf("log = %q, want what it said and no note", a.log)
		}
	})
	if got := h.eventsOf(t, a); len(got) != 12 || got[0] != "step Open Settings." || got[11] != "cost" {
		t.Errorf("events = %q, want four for each sentence", got)
	}
	checkEvents(t, a.events)
}

func TestTheExampleInShellWorks(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	goal := `$(id) "quoted" -n`
	a := h.by("example-shell", "sim-1", goal)
	check(t, h.ended(t, a), "done", "")
	said := strings.Repeat("sim-1: "+goal+"\n", 3)
	if got := h.kept(t, a, "said.txt"); got[0] != said {
		t.Errorf("said = %q", got)
	}
	if diff := cmp.Diff([]string{"step repeat the goal", "progress", "progress", "progress", "step repeat the goal"}, h.eventsOf(t, a)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkEvents(t, a.events)
}

// checkEvents holds each line against the schema that people write their runners by.
func checkEvents(t *testing.T, lines []byte) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema.Event()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("event.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("event.json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = s.Validate(value)
		}
		if err != nil {
			t.Errorf("event %s: %v", line, err)
		}
	}
}

func TestTheExamplesStopWhenTheyAreAsked(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	h := newHouse(t, 2, agent.Options{})
	python := h.by("example-python", "sim-1", strings.Repeat("Wait. ", 1000))
	shell := h.assign("sim-2", v1.AgentTask{
		Workflow:       &v1.WorkflowRef{Name: "w", Version: 1},
		WorkflowSource: "{version: steps/v1, name: w, steps: [{id: say, uses: example-shell, with: {goal: hello, times: '1000'}}]}",
	})
	for _, a := range []*held{python, shell} {
		h.logged(t, a, "\n")
	}
	h.do(func() { python.cancel, shell.cancel = true, true })
	check(t, h.ended(t, python), "cancelled", "cancelled")
	check(t, h.ended(t, shell), "cancelled", "cancelled")
	h.logged(t, python, "stopped by SIGINT")
	h.logged(t, shell, "stopped")
	if got := h.kept(t, python, "diary.txt"); !strings.HasPrefix(got[0], "sim-1: Wait.\n") {
		t.Errorf("diary = %.60q", got)
	}
	h.kept(t, shell, "say/said.txt")
}

func TestStepsLeaveOutputsAndArtifactsUnderTheirNames(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	h := newHouse(t, 1, agent.Options{})
	a := h.assign("sim-1", v1.AgentTask{Workflow: &v1.WorkflowRef{Name: "w", Version: 1}, WorkflowSource: `
version: steps/v1
name: w
steps:
  - id: plan
    uses: example-python
    with: {goal: "One. Two.", pause: "0"}
  - id: say
    uses: example-shell
    with: {goal: "hello", times: "${{ steps.plan.outputs.sentences }}"}
  - uses: example-shell
    with: {goal: "again", times: "1"}
`})
	r := h.ended(t, a)
	check(t, r, "done", "")
	var result v1.WorkflowResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	var third string
	for name := range a.files {
		if !strings.HasPrefix(name, "plan/") && !strings.HasPrefix(name, "say/") {
			third = name
		}
	}
	got := h.kept(t, a, "plan/diary.txt", "say/said.txt", third)
	if want := "sim-1: hello\nsim-1: hello\n"; got[1] != want || !strings.HasSuffix(third, "/said.txt") {
		t.Errorf("artifacts = %q, the third is %s; want %q", got, third, want)
	}
	want := []map[string]string{{"sentences": "2", "device": "sim-1"}, {"times": "2", "said": "2 times"}, {"times": "1", "said": "1 times"}}
	offset := int64(0)
	for i, step := range result.Steps {
		if diff := cmp.Diff(want[i], step.Outputs); diff != "" {
			t.Errorf("outputs of step %s (-want +got):\n%s", step.ID, diff)
		}
		if step.LogOffset != offset || step.LogBytes == 0 {
			t.Errorf("step %s is at %d of the log, %d bytes; want %d", step.ID, step.LogOffset, step.LogBytes, offset)
		}
		offset += step.LogBytes
	}
	h.until(t, "the whole log", func() bool { return int64(len(a.log)) == offset })
	if events := string(a.events); !strings.Contains(events, `"step_id":"plan"`) || !strings.Contains(events, `"step_id":"say"`) {
		t.Errorf("events do not say of which step they are:\n%s", fmt.Sprint(events))
	}
}
