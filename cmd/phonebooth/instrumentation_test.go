//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// fourClasses is a workflow that runs each class of the simulated phone's test package.
const fourClasses = `version: steps/v1
name: classes
steps:
  - {id: pass, uses: instrumentation, with: {goal: COMPONENT}}
  - {id: fail, uses: instrumentation, with: {component: COMPONENT, class: org.phonebooth.sim.Fail}, continue-on-error: true}
  - {id: crash, uses: instrumentation, with: {component: COMPONENT, class: org.phonebooth.sim.Crash}, continue-on-error: true}
  - {id: gone, uses: instrumentation, with: {component: no.such/.Runner}, continue-on-error: true}
`

// am instrument says 0 whatever happens, and the real adb client carries what it says of the tests.
func TestInstrumentationsEndAsTheirTestsDo(t *testing.T) {
	t.Parallel()
	r := newBooth(t).rack(t, 1)
	p := r.dev(t)
	r.attach(t)
	p.waitDevices(t, 1)
	p.run(t, "workflow", "apply", r.write(t, "classes.yaml", strings.ReplaceAll(fourClasses, "COMPONENT", simdevice.TestComponent)))
	task := one[v1.Task](t, p.run(t, "submit", "--workflow", "classes", "--driver", "android", "--wait", "-o", "json"))
	var result v1.WorkflowResult
	if err := json.Unmarshal(task.Result, &result); err != nil || task.Status != "done" || len(result.Steps) != 4 {
		t.Fatalf("the task is %s with %s, %v", task.Status, task.Result, err)
	}
	for i, want := range []struct{ status, message, tally string }{
		{"done", "", `"tests":3,"passed":2,"failures":0,"errors":0,"skipped":1`},
		{"failed", "2 of 3 tests failed, the first is org.phonebooth.sim.Fail#isGreen", `"tests":3,"passed":1,"failures":1,"errors":1`},
		{"failed", "Process crashed.", `"tests":2,"passed":1,"failures":0,"errors":1`},
		{"failed", "the phone has no instrumentation no.such/.Runner", `"tests":0`},
	} {
		s := result.Steps[i]
		var tally bytes.Buffer // without the spaces of the page
		if err := json.Compact(&tally, s.Result); err != nil {
			t.Fatal(err)
		}
		if s.Status != want.status || !strings.Contains(s.Message, want.message) || !strings.Contains(tally.String(), want.tally) {
			t.Errorf("step %s is %s (%s) with %s; want %+v", s.ID, s.Status, s.Message, s.Result, want)
		}
	}
	eventually(t, "a JUnit report of each step", func() bool {
		list, err := p.client.Artifacts(t.Context(), task.ID, 0)
		n := 0
		for _, a := range list {
			if strings.HasSuffix(a.Name, "/junit.xml") {
				n++
			}
		}
		return err == nil && n == 4
	})

	// A stream that breaks off is a phone that went away: the attempt is given back, on whatever device it is tried again.
	p.run(t, "workflow", "apply", r.write(t, "cut.yaml", "version: steps/v1\nname: cut\nsteps:\n  - {uses: instrumentation, with: {component: "+
		simdevice.TestComponent+", class: org.phonebooth.sim.Cut}}\n"))
	cut := one[v1.Task](t, r.try(t, "submit", "--workflow", "cut", "--driver", "android", "--max-attempts", "2", "--wait", "-o", "json").stdout)
	if cut.Status != "failed" || cut.Attempt != 2 || cut.Failure == nil || cut.Failure.Code != "device_lost" {
		t.Errorf("the cut one is %s in attempt %d with %+v, want device_lost in the second", cut.Status, cut.Attempt, cut.Failure)
	}
}
