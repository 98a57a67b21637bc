package server_test

import (
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestS1_4_InputsThatAWorkflowDoesNotDeclareAreRefusedAndStoreNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		sys.ApplyWorkflow(t, "greet", "{version: steps/v1, name: greet, steps: [wave]}")
		sys.ApplyWorkflow(t, "greet", "version: steps/v1\nname: greet\ninputs: {who: {required: true}, how: {default: loudly}}\nsteps: ['greet ${{ inputs.who }}']\n")
		for _, c := range []struct{ name, workflow, pointer, want string }{
			{"unknown", `{"name":"greet","inputs":{"who":"a","whom":"b"}}`, "/workflow/inputs/whom", "it has: how, who"},
			{"missing", `{"name":"greet","inputs":{"how":"softly"}}`, "/workflow/inputs/who", "requires the input who"},
			{"none", `{"name":"greet"}`, "/workflow/inputs/who", "requires the input who"},
			{"a number", `{"name":"greet","inputs":{"who":7}}`, "/workflow/inputs/who", "must be a string"},
			{"null", `{"name":"greet","inputs":{"who":null}}`, "/workflow/inputs/who", "must be a string"},
			{"a NUL", `{"name":"greet","inputs":{"who":"\u0000"}}`, "/workflow/inputs/who", "NUL"},
			{"too long", `{"name":"greet","inputs":{"who":"` + strings.Repeat("x", 100<<10+1) + `"}}`, "/workflow/inputs/who", "longer than 102400 bytes"},
			{"no object", `{"name":"greet","inputs":["who"]}`, "/workflow/inputs", "must be an object"},
			{"of an older version", `{"name":"greet","version":1,"inputs":{"who":"a"}}`, "/workflow/inputs/who", "it has: none"},
		} {
			status, problem := sys.Raw(t, "POST", "/v1/tasks", `{"workflow":`+c.workflow+`}`)
			if status != 422 || problem.Code != "invalid" || problem.Extra["pointer"] != c.pointer || !strings.Contains(problem.Detail, c.want) {
				t.Errorf("%s: %d %+v, want invalid at %s: %s", c.name, status, problem, c.pointer, c.want)
			}
		}
		if tasks := sys.Tasks(t); len(tasks) != 0 {
			t.Errorf("%d tasks are stored, want none", len(tasks))
		}
		task := sys.Submit(t, v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "greet", Inputs: []byte(`{"who":"Ada"}`)}})
		if task.Workflow == nil || task.Workflow.Version != 2 || string(task.Workflow.Inputs) != `{"who":"Ada"}` {
			t.Errorf("the task has %+v, want version 2 with its input as it was given", task.Workflow)
		}
	})
}

// A caller whose answer was lost repeats; meanwhile the workflow has become another.
func TestC17_ARepeatIsAnsweredAlsoWhenItsWorkflowHasChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		sys.ApplyWorkflow(t, "greet", "{version: steps/v1, name: greet, inputs: {who: {required: true}}, steps: [wave]}")
		ask := func(key, who string) (v1.Task, error) {
			return sys.SubmitKey(t, key, v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "greet", Inputs: []byte(`{"who":"` + who + `"}`)}})
		}
		first, err := ask("k", "a")
		if err != nil {
			t.Fatal(err)
		}
		sys.ApplyWorkflow(t, "greet", "{version: steps/v1, name: greet, inputs: {whom: {required: true}}, steps: [wave]}")
		if again, err := ask("k", "a"); err != nil || again.ID != first.ID {
			t.Errorf("the repeat: %s, %v; want the first task %s", again.ID, err, first.ID)
		}
		if _, err := ask("other", "a"); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("under another key: %v, want it refused", err)
		}
		if _, err := ask("k", "b"); phonebooth.CodeOf(err) != "idempotency_key_reused" {
			t.Errorf("another body under the key: %v, want idempotency_key_reused", err)
		}
	})
}
