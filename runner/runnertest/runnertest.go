// Package runnertest checks that a runner keeps the contract of package runner.
//
//	func TestContract(t *testing.T) {
//		runnertest.Run(t, runnertest.Harness{Registration: r})
//	}
//
// It is for tests only. With Harness.Really it starts the runner's program as well, which then must be installed.
package runnertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// Harness says what to check.
type Harness struct {
	Registration runner.Registration

	// Really maps goals to the outcome that the real program must come to. Empty: the program is not started.
	Really map[string]phonebooth.Outcome
	// Env is what the bridge would add for Really.
	Env []string
	// With are the runner's inputs, where it needs any.
	With map[string]string
}

// Goals are goals that break programs which are not careful (C40).
func Goals() []string {
	return []string{
		"open Settings", "-rf", "--help", "-", "--", `"quoted" and 'quoted'`, "two\nlines", "$(id) `id` ; id & id", "{serial} {goal}",
		"caf\u00e9 \U0001F4F1 \u202Ertl\u202C", " space around ", "%s%n", "PHONEBOOTH_GOAL=x", strings.Repeat("long ", phonebooth.MaxGoalBytes/5),
	}
}

// Run runs all checks as subtests.
func Run(t *testing.T, h Harness) {
	t.Run("registers", func(t *testing.T) {
		var g runner.Registry
		if err := g.Register(h.Registration); err != nil {
			t.Error(err)
		}
	})
	t.Run("C40 goals stay whole", func(t *testing.T) {
		for _, goal := range Goals() {
			checkCommand(t, h, goal)
		}
	})
	t.Run("equal work gives equal commands, also at the same time", func(t *testing.T) { checkPure(t, h) })
	t.Run("ends", func(t *testing.T) { checkEnds(t, h.Registration.Runner) })
	for goal, want := range h.Really {
		t.Run("really: "+goal[:min(len(goal), 40)], func(t *testing.T) {
			t.Parallel()
			checkReally(t, h, goal, want)
		})
	}
}

func (h Harness) work(goal string) runner.Work {
	return runner.Work{
		With:   h.With,
		TaskID: "task_1", Attempt: 1, Goal: goal, DeviceID: "device_1", DriverType: "sim", Serial: "serial 1",
		Deadline: time.Now().Add(time.Minute), PortBase: runner.FirstPort,
	}
}

// maxArgument is the longest single argument that Linux takes.
const maxArgument = 128 << 10

// longGoal is from which length on a goal may be refused by a program that cannot carry it.
const longGoal = 32 << 10

// checkCommand: the goal is in one argument or in none, whole, and never where an option could be. A long one may be refused.
func checkCommand(t *testing.T, h Harness, goal string) {
	t.Helper()
	r := h.Registration.Runner
	c, err := r.Command(h.work(goal))
	if len(goal) > longGoal && phonebooth.CodeOf(err) == "invalid_task" {
		return
	}
	if err != nil {
		t.Errorf("Command(%.40q) = %v", goal, err)
		return
	}
	plain, err := r.Command(h.work("x"))
	if err != nil || len(plain.Argv) != len(c.Argv) || len(c.Argv) == 0 || c.Argv[0] != plain.Argv[0] || c.Argv[0] == "" {
		t.Errorf("Command(%.40q).Argv = %.80q, want the program and the number of arguments of every goal: %q (%v)", goal, c.Argv, plain.Argv, err)
		return
	}
	for i, arg := range c.Argv {
		fromGoal := arg != plain.Argv[i]
		switch {
		case strings.ContainsRune(arg, 0) || len(arg) >= maxArgument:
			t.Errorf("Command(%.40q).Argv[%d] cannot be passed to a program", goal, i)
		case fromGoal && !strings.Contains(arg, goal):
			t.Errorf("Command(%.40q).Argv[%d] = %.80q, want the goal unharmed in it", goal, i, arg)
		case fromGoal && strings.HasPrefix(arg, "-") && !strings.HasPrefix(plain.Argv[i], "-") && !slices.Contains(c.Argv[:i], "--"):
			t.Errorf("Command(%.40q).Argv[%d] = %.80q can be taken for an option", goal, i, arg)
		}
	}
	for _, entry := range c.Env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" || strings.HasPrefix(name, "PHONEBOOTH_") {
			t.Errorf("Command(%.40q).Env holds %q, want NAME=VALUE outside the contract's names", goal, entry)
		}
	}
	if c.Stop.First == 0 || c.Stop.Grace <= 0 || c.Stop.TermGrace <= 0 {
		t.Errorf("Command(%.40q).Stop = %+v, want a signal and two graces", goal, c.Stop)
	}
}

func checkPure(t *testing.T, h Harness) {
	r := h.Registration.Runner
	want, err := r.Command(h.work("open Settings"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := r.Command(h.work("open Settings"))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Command differs from itself (-first +later), %v:\n%s", err, diff)
			}
			if len(got.Argv) > 0 {
				got.Argv[0] = "changed by the caller"
			}
		})
	}
	all.Wait()
}

// checkEnds: no runner calls the end by a signal done, and every reading is an outcome with a code.
func checkEnds(t *testing.T, r runner.Runner) {
	for code := range 256 {
		if report, ok := r.Parse(runner.End{Exit: runner.Exit{Code: code}}); ok {
			if !report.Outcome.Valid() || report.Outcome != phonebooth.OutcomeDone && report.Failure.Code == "" {
				t.Errorf("Parse(exit code %d) = %+v, want an outcome, and a code unless it is done", code, report)
			}
		}
	}
	if report, ok := r.Parse(runner.End{Exit: runner.Exit{Code: -1, Signal: "SIGKILL"}}); ok && report.Outcome == phonebooth.OutcomeDone {
		t.Error("Parse(SIGKILL) is done, want a killed runner never to be")
	}
}

func checkReally(t *testing.T, h Harness, goal string, want phonebooth.Outcome) {
	w := h.work(goal)
	place, err := runner.Prepare(filepath.Join(t.TempDir(), "place"), w)
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Registration.Runner.Command(w)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	program.Dir, program.Env = place.Dir, runner.Environ(os.Environ(), w, place, c.Env, h.Env)
	log, err := program.CombinedOutput()
	if program.ProcessState == nil {
		t.Fatalf("starting %q: %v", c.Argv[0], err)
	}
	e := runner.Evidence{Exit: runner.Exit{Code: program.ProcessState.ExitCode()}}
	if e.Result, err = runner.ReadResult(place.Result); err != nil {
		t.Errorf("result: %v", err)
	}
	if report, ok := h.Registration.Runner.Parse(runner.End{Exit: e.Exit, Place: place, Log: bytes.NewReader(log)}); ok {
		e.Parsed = &report
	}
	if got := runner.Judge(e); got.Outcome != want {
		t.Errorf("outcome = %s (%s), want %s; log:\n%s", got.Outcome, got.Failure.Message, want, log)
	}
}
