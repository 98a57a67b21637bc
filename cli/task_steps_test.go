package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

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

func TestC37_AStepsPartOfALongLog(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("h", headBytes-4) + "HEAD"
	gap := strings.Repeat("g", 1000)
	l := &logs{text: map[int]string{1: head + gap + "tail and more"}, lost: map[int]int{1: len(head) + len(gap)}}
	f, out := follow(t, l)
	f.attempt = 1
	for _, c := range []struct {
		what      string
		offset, n int64
		want      string
	}{
		{"in the head", headBytes - 4, 2, "HE"},
		{"up to the end of the head", headBytes - 4, 4, "HEAD"},
		{"from the head into what was left out", headBytes - 2, 12, "AD\n[phonebooth: 10 bytes left out]\n"},
		{"left out", headBytes + 5, 10, "\n[phonebooth: 10 bytes left out]\n"},
		{"from what was left out into the tail", headBytes + 990, 14, "\n[phonebooth: 10 bytes left out]\ntail"},
		{"all around it", headBytes - 1, 1005, "D\n[phonebooth: 1000 bytes left out]\ntail"},
		{"in the tail", headBytes + 1005, 3, "and"},
		{"longer than the log", headBytes + 1009, 99, "more"},
		{"nothing", 7, 0, ""},
	} {
		out.Reset()
		if err := f.copySection(t.Context(), c.offset, c.n); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.what, out.String(), err, c.want)
		}
	}
}
