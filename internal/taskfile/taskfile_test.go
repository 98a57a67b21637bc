package taskfile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/taskfile"
)

func TestOneBatchInManyForms(t *testing.T) {
	t.Parallel()
	want := []v1.TaskRequest{
		{Goal: "open Settings: 📱", Constraints: v1.Constraints{DriverType: "android", Tags: []string{"pixel"}}, Labels: map[string]string{"n": "1"}},
		{Workflow: &v1.WorkflowRef{Name: "login", Version: 2, Inputs: json.RawMessage(`{"tries":2,"user":"ada"}`)}, TimeoutS: 600, Priority: -3},
	}
	const list = `
- goal: "open Settings: 📱"
  constraints: {driver_type: android, tags: [pixel]}
  labels: {n: "1"}
- workflow:
    name: login
    version: 2
    inputs: {user: ada, tries: 2}
  timeout_s: 600
  priority: -3
`
	const first = `{"goal":"open Settings: \ud83d\udcf1","constraints":{"driver_type":"android","tags":["pixel"]},"labels":{"n":"1"}}`
	const second = `{"workflow":{"name":"login","version":2,"inputs":{"user":"ada","tries":2}},"timeout_s":600,"priority":-3}`
	for name, text := range map[string]string{
		"a list in YAML":     list,
		"a mapping in YAML":  "# two\ntasks:" + list,
		"JSON Lines":         "\n" + first + "\n\r\n" + second,
		"the API's own body": `{"tasks": [` + first + ",\n" + second + "]}",
		"a list in JSON":     "[" + first + "," + second + "]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, problems := taskfile.Read(text, false)
			if diff := cmp.Diff(want, f.Tasks); diff != "" || len(problems) != 0 {
				t.Errorf("%v, -want +got:\n%s", problems, diff)
			}
		})
	}
	if f, problems := taskfile.Read(first, false); len(problems) != 0 || len(f.Tasks) != 1 {
		t.Errorf("one line of JSON is %d tasks, %v; want one", len(f.Tasks), problems)
	}
}

func TestDefaultsAreForWhatATaskLeavesOut(t *testing.T) {
	t.Parallel()
	f, problems := taskfile.Read(`
defaults:
  workflow: {name: login, inputs: {user: ada, tries: 1}}
  constraints: {driver_type: android, tags: [a, b]}
  labels: {suite: nightly, team: x}
  timeout_s: 60
tasks:
  - workflow: {inputs: {tries: 2}}
  - constraints: {tags: [c]}
    labels: {team: "y"}
    timeout_s: 90
`, false)
	want := []v1.TaskRequest{
		{
			Workflow:    &v1.WorkflowRef{Name: "login", Inputs: json.RawMessage(`{"tries":2,"user":"ada"}`)},
			Constraints: v1.Constraints{DriverType: "android", Tags: []string{"a", "b"}},
			Labels:      map[string]string{"suite": "nightly", "team": "x"}, TimeoutS: 60,
		},
		{
			Workflow:    &v1.WorkflowRef{Name: "login", Inputs: json.RawMessage(`{"tries":1,"user":"ada"}`)},
			Constraints: v1.Constraints{DriverType: "android", Tags: []string{"c"}},
			Labels:      map[string]string{"suite": "nightly", "team": "y"}, TimeoutS: 90,
		},
	}
	if diff := cmp.Diff(want, f.Tasks); diff != "" || len(problems) != 0 {
		t.Errorf("%v, -want +got:\n%s", problems, diff)
	}
}

// line:column [index] message
func shown(e *phonebooth.Error) string {
	text := e.Detail["line"] + ":" + e.Detail["column"]
	if e.Detail["index"] != "" {
		text += " [" + e.Detail["index"] + "]"
	}
	return text + " " + e.Message
}

func TestEveryMistakeHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " \n", []string{"1:1 there are no tasks in it"}},
		{"only a comment", "# none\n", []string{"1:1 there are no tasks in it"}},
		{"no tasks", "defaults: {goal: x}\n", []string{"1:1 there are no tasks in it"}},
		{"an empty list", "tasks: []\n", []string{"1:1 there are no tasks in it"}},
		{"text", "open Settings\n", []string{"1:1 a file of tasks is a list of tasks, or has the fields tasks and defaults"}},
		{"a list of texts", "- open Settings\n", []string{
			"1:3 [0] a task has fields of its own: constraints, goal, labels, max_attempts, priority, queue_timeout_s, timeout_s, workflow",
		}},
		{"two mistakes", "tasks:\n  - goal: x\n    golas: y\n  - constraints:\n      tags: a\n    goal: 7\n", []string{
			"3:5 [0] there is no field golas here; there are: constraints, goal, labels, max_attempts, priority, queue_timeout_s, timeout_s, workflow",
			"5:7 [1] tags is a list",
			"6:5 [1] goal is text; put quotes around it",
		}},
		{"senseless", "- goal: x\n- goal: ' '\n- timeout_s: 7\n- goal: x\n  timeout_s: 90000\n", []string{
			"2:3 [1] the goal is empty; say what the device should do",
			"3:3 [2] a task needs a goal or a workflow; give exactly one of them",
			"5:3 [3] the timeout must be between 1 and 86400 seconds",
		}},
		{"a tag", "- {goal: x, constraints: {tags: [b, a, '']}}", []string{"1:40 [0] a tag must be 1 to 255 bytes long"}},
		{"of the defaults", "defaults:\n  priority: 11\ntasks: [{goal: x}]", []string{"2:3 [0] the priority must be between -10 and 10"}},
		{"of the defaults' shape", "defaults:\n  tags: [a]\ntasks: [{goal: x}]", []string{
			"2:3 there is no field tags here; there are: constraints, goal, labels, max_attempts, priority, queue_timeout_s, timeout_s, workflow",
		}},
		{"a half number", "- goal: x\n  timeout_s: 1.5", []string{"2:3 [0] timeout_s is a whole number"}},
		{"a label that is a number", "- goal: x\n  labels: {n: 1}", []string{"2:12 [0] n is text; put quotes around it"}},
		{"inputs that are a list", "- workflow: {name: x, inputs: [1]}", []string{"1:23 [0] the workflow's inputs must be an object"}},
		{"twice", "- goal: x\n  goal: y", []string{`2:3 this is not YAML: mapping key "goal" already defined at [1:3]`}},
		{"two documents", "- goal: x\n---\n- goal: y", []string{"3:1 there is a second document; a file of tasks is one"}},
		{"an anchor", "- &a {goal: x}\n- *a", []string{"1:3 anchors, aliases and tags are not allowed; use defaults, or put the text in quotes if it is meant as it is"}},
		{"too deep", strings.Repeat("[", 40), []string{"1:33 this is nested too deep"}},
		{"NUL", "- goal: a\x00b", []string{"1:10 the text holds a NUL byte"}},
		{"UTF-8", "- goal: x\n- goal: \xff", []string{"2:9 the text is not valid UTF-8"}},
		{"JSON Lines", "{\"goal\":\"x\"}\n{\"goal\":\"x\",\"golas\":1}\n\n{\"goal\": \"\"}\n", []string{
			"2:13 [1] there is no field golas here; there are: constraints, goal, labels, max_attempts, priority, queue_timeout_s, timeout_s, workflow",
		}},
		{"a broken line", "{\"goal\":\"x\"}\n{\"goal\":\"y\"\n", []string{"2:12 this is not JSON"}},
		{"two on a line", "{\"goal\":\"x\"}\n{\"goal\":\"y\"} {}", []string{"2:13 this is not JSON"}},
		{"twice in a line", `{"goal":"x","goal":"y"}`, []string{"1:13 goal stands here for the second time"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, problems := taskfile.Read(tt.text, false)
			var got []string
			for _, p := range problems {
				got = append(got, shown(p))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || f.Tasks != nil {
				t.Errorf("%d tasks, -want +got:\n%s", len(f.Tasks), diff)
			}
		})
	}
}

func TestABatchHasALimit(t *testing.T) {
	t.Parallel()
	f, problems := taskfile.Read(strings.Repeat("- goal: x\n", phonebooth.MaxBatchTasks), false)
	if len(f.Tasks) != phonebooth.MaxBatchTasks || len(problems) != 0 {
		t.Errorf("%d tasks, %v; want all", len(f.Tasks), problems)
	}
	_, problems = taskfile.Read(strings.Repeat(`{"goal":"x"}`+"\n", phonebooth.MaxBatchTasks+1), false)
	if len(problems) != 1 || shown(problems[0]) != "1001:1 [1000] a batch holds at most 1000 tasks, and this has 1001; submit it in parts" {
		t.Errorf("got %v, want the limit, at the first task over it", problems)
	}
}

func TestWhatTheServerRefusesIsFound(t *testing.T) {
	t.Parallel()
	f, problems := taskfile.Read("defaults:\n  workflow: {name: login}\ntasks:\n  - workflow:\n      inputs: {user: ada}\n  - priority: 1\n", false)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	for pointer, want := range map[string]string{
		"/tasks/0/workflow/inputs/user": "5:16",
		"/tasks/0/workflow/inputs/pass": "5:7",
		"/tasks/1/workflow/name":        "2:14",
		"/tasks/1":                      "6:5",
		"":                              "1:1",
		"/tasks/7":                      "3:1",
	} {
		e := f.Locate(phonebooth.Errorf(phonebooth.Invalid, "invalid", "no").With("pointer", pointer))
		if got := e.Detail["line"] + ":" + e.Detail["column"]; got != want {
			t.Errorf("%q is at %s, want %s", pointer, got, want)
		}
	}
}

// What the API would read of a line is what is read here.
func TestJSONLinesAreReadAsTheAPIReadsThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "tasks")
		var want []v1.TaskRequest
		var lines []string
		for i := range n {
			req := v1.TaskRequest{
				Goal:   rapid.StringMatching(`[^\x00]+`).Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, "goal"),
				Labels: map[string]string{"n": fmt.Sprint(i)}, Priority: rapid.IntRange(-10, 10).Draw(t, "priority"),
			}
			text, err := json.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			var read v1.TaskRequest
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			want, lines = append(want, read), append(lines, string(text))
		}
		f, problems := taskfile.Read(strings.Join(lines, "\n"), true)
		if diff := cmp.Diff(want, f.Tasks); diff != "" || len(problems) != 0 {
			t.Errorf("%v, -want +got:\n%s", problems, diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"- goal: x", `{"goal":"x"}`, "tasks: [{goal: x}]\ndefaults: {labels: {a: b}}", "{\"a\":[1,{\"b\":null}]}\n{}", "a: {b: [}"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, lines bool) {
		file, problems := taskfile.Read(text, lines)
		if (len(problems) == 0) != (len(file.Tasks) > 0) {
			t.Errorf("%d tasks and %v", len(file.Tasks), problems)
		}
		for _, p := range problems {
			if p.Code != "invalid" || p.Detail["line"] == "" || p.Detail["column"] == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
	})
}
