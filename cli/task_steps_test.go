package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func TestStepsAreTakenOutOfAResult(t *testing.T) {
	t.Parallel()
	flow := &v1.WorkflowRef{Name: "f"}
	for result, want := range map[string]struct {
		steps int
		rest  string
	}{
		`{"steps":[{"id":"a"},{"id":"b"}]}`:    {2, ``},
		`{"steps":[{"id":"a"}],"x":{"y":"<"}}`: {1, `{"x":{"y":"<"}}`},
		`{"steps":[]}`:                         {0, `{"steps":[]}`},
		`{"steps":"three"}`:                    {0, `{"steps":"three"}`},
		`{"steps":[3]}`:                        {0, `{"steps":[3]}`},
		`[1]`:                                  {0, `[1]`},
		`null`:                                 {0, `null`},
		``:                                     {0, ``},
	} {
		steps, rest := stepsOf(v1.Task{Workflow: flow, Result: json.RawMessage(result)})
		if len(steps) != want.steps || string(rest) != want.rest {
			t.Errorf("%s: got %d steps and %s", result, len(steps), rest)
		}
	}
	const own = `{"steps":[{"id":"a"}]}`
	if steps, rest := stepsOf(v1.Task{Goal: "x", Result: json.RawMessage(own)}); steps != nil || string(rest) != own {
		t.Errorf("a goal's own steps: got %v and %s", steps, rest)
	}
}

func TestWhatStepsSayDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	cmd := verb(t)
	var out bytes.Buffer
	cmd.SetOut(&out)
	bad := "a\x1b[2J\u202e\r\nb"
	err := printSteps(cmd, []v1.StepResult{{
		ID: bad, Name: bad, Uses: bad, Status: bad, Code: bad, Message: bad, Tries: 1, Outputs: map[string]string{bad: bad},
	}})
	if err != nil || strings.ContainsAny(out.String(), "\x1b\r\u202e") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

// verb is a verb whose output is thrown away.
func verb(t *testing.T) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(&bytes.Buffer{})
	return cmd
}
