//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"image/png"
	"path/filepath"
	"regexp"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// fourSteps is a workflow of each kind of step.
const fourSteps = `version: steps/v1
name: four
inputs:
  who: {required: true}
steps:
  - greet the phone. look at it.
  - id: model
    run: |
      echo "hello $WHO"
      echo "model=$(adb shell getprop ro.product.model | tr ' ' _)" >> "$PHONEBOOTH_OUTPUTS"
    env: {WHO: "${{ inputs.who }}"}
  - {id: shot, uses: screenshot, with: {name: "${{ steps.model.outputs.model }}"}}
  - {id: broken, run: exit 3, continue-on-error: true}
`

func TestAWorkflowOfFourStepsIsDoneAndShowsThem(t *testing.T) {
	t.Parallel()
	example, err := filepath.Abs("../../examples/runners/python/runner.py")
	if err != nil {
		t.Fatal(err)
	}
	r := newBooth(t).rack(t, 1)
	p := r.dev(t, "--config", r.write(t, "own.yaml", fmt.Sprintf("runners:\n  - {name: example-python, drivers: [android], argv: [python3, %q], env: {PAUSE: \"0\"}}\n", example)))
	r.attach(t)
	p.waitDevices(t, 1)
	p.run(t, "workflow", "check", r.write(t, "four.yaml", fourSteps))
	p.run(t, "workflow", "apply", r.path("four.yaml"))
	if o := r.try(t, "submit", "--workflow", "four", "--driver", "android"); o.code != 4 {
		t.Errorf("without its input the workflow is taken with exit code %d", o.code)
	}
	task := one[v1.Task](t, p.run(t, "submit", "--workflow", "four", "--input", "who=it's $HOME", "--driver", "android", "--wait", "-o", "json"))
	var result v1.WorkflowResult
	if err := json.Unmarshal(task.Result, &result); err != nil || task.Status != "done" || len(result.Steps) != 4 {
		t.Fatalf("the task is %s with %s, %v; want it done with four steps\n%s", task.Status, task.Result, err, p.run(t, "task", "log", task.ID))
	}
	for i, want := range []struct{ id, status, code string }{
		{"step-1", "done", ""}, {"model", "done", ""}, {"shot", "done", ""}, {"broken", "failed", "runner_failed"},
	} {
		if s := result.Steps[i]; s.ID != want.id || s.Status != want.status || s.Code != want.code || s.DurationMS <= 0 {
			t.Errorf("step %d is %+v, want %+v and how long it took", i+1, s, want)
		}
	}
	if got := p.run(t, "task", "log", task.ID, "--step", "model"); got != "hello it's $HOME\n" {
		t.Errorf("the log of the second step is %q, want the input unharmed", got)
	}
	for _, line := range []string{`(?m)^step-1 .*done`, `(?m)^model .*done`, `(?m)^shot .*screenshot.*done`, `(?m)^broken .*failed`} {
		if page := p.run(t, "task", "get", task.ID); !regexp.MustCompile(line).MatchString(page) {
			t.Errorf("task get has no line like %s:\n%s", line, page)
		}
	}
	const name = "shot/Phone_1.png"
	eventually(t, "the screenshot", func() bool {
		list, err := p.client.Artifacts(t.Context(), task.ID, 0)
		for _, a := range list {
			if a.Name == name {
				return true
			}
		}
		return err != nil
	})
	file, err := p.client.Artifact(t.Context(), task.ID, 1, name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := png.Decode(file); err != nil {
		t.Errorf("the screenshot is no PNG: %v", err)
	}
}
