package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
)

func check(t *testing.T, r v1.ReportRequest, outcome, code string) {
	t.Helper()
	if r.Outcome != outcome || r.Code != code {
		t.Errorf("report = %s %q (%s), want %s %q", r.Outcome, r.Code, r.Message, outcome, code)
	}
}

func TestS4_2_TheOutcomeOfTheRunIsReported(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2, agent.Options{})
	good := h.goal("sim-1", "print hello; print world")
	bad := h.goal("sim-2", "print oh; exit 3")
	r := h.ended(t, good)
	check(t, r, "done", "")
	if r.Runner != "fake" || r.Fence != "process" {
		t.Errorf("ran by %q, fenced by %q, want fake and process", r.Runner, r.Fence)
	}
	check(t, h.ended(t, bad), "failed", "runner_failed")
	h.logged(t, good, "hello\nworld\n")
	h.logged(t, bad, "oh\n")
	h.condition(t, "sim-1", phonebooth.Ready)
	h.condition(t, "sim-2", phonebooth.Ready)
}

func TestPretendedStepsLeaveAResult(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	r := h.ended(t, h.goal("sim-1", "open Settings"))
	if check(t, r, "done", ""); string(r.Result) != `{"steps":3}` {
		t.Errorf("result = %s, want that of the runner", r.Result)
	}
}

func TestS4_1_AWorkflowRunsItsStepsUnderOneLease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	flow := func(source string) *held {
		return h.assign("sim-1", v1.AgentTask{Workflow: &v1.WorkflowRef{Name: "w", Version: 1}, WorkflowSource: source})
	}
	a := flow("{version: steps/v1, name: w, steps: [print one, print two]}")
	check(t, h.ended(t, a), "done", "")
	h.logged(t, a, "one\ntwo\n")
	b := flow("{version: steps/v1, name: w, steps: [print one, exit 4, print three]}")
	r := h.ended(t, b)
	if check(t, r, "failed", "runner_failed"); !strings.HasPrefix(r.Message, "step 2 of 3: ") {
		t.Errorf("message = %q, want it to say at which step", r.Message)
	}
	check(t, h.ended(t, flow("{version: steps/v9}")), "failed", "invalid_task")
}

func TestS6_4_ACancelledAttemptIsClaimedAndNothingIsStarted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	marker := filepath.Join(t.TempDir(), "started")
	h.do(func() { h.down = true })
	a := h.shell("sim-1", "touch "+marker)
	h.do(func() { a.cancel, h.down = true, false })
	check(t, h.ended(t, a), "cancelled", "cancelled")
	if _, err := os.Stat(marker); err == nil {
		t.Error("the runner was started, want nothing to be")
	}
}

func TestS7_5_WhatTheHostGivesBackCarriesItsReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 4, agent.Options{})
	gone := h.shell("sim-1", "echo begun; read x < "+fifo(t)+"; exit 0")
	h.logged(t, gone, "begun")
	h.bridge.Unplug("sim-1")
	again := h.goal("sim-2", "exit 75")
	killed := h.shell("sim-3", "kill -9 $$")
	absent := h.goal("sim-9", "print never")
	check(t, h.ended(t, again), "abandoned", "try_again")
	check(t, h.ended(t, killed), "abandoned", "runner_killed")
	check(t, h.ended(t, absent), "abandoned", "device_lost")
	h.release(t, gone)
	check(t, h.ended(t, gone), "abandoned", "device_lost")
}

// fifos are pipes that hold a runner until release; by the path that is in its goal.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hold")
	if err := mkfifo(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// release lets a runner go on that reads from the pipe in its goal.
func (h *house) release(t *testing.T, a *held) {
	t.Helper()
	_, rest, _ := strings.Cut(a.Task.Goal, "read x < ")
	path, _, _ := strings.Cut(rest, ";")
	if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

func TestC02_AHangingRunnerEndsAtTheTimeoutWithItsChildren(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	child := filepath.Join(t.TempDir(), "child")
	a := h.assign("sim-1", v1.AgentTask{
		Goal: "trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; echo $$ > " + child + "; while :; do sleep 1; done' & wait", Runner: "shell", TimeoutMS: 6000, // its start takes a while on a busy machine
	})
	pid := pidIn(t, child)
	check(t, h.ended(t, a), "failed", "timeout")
	dead(t, pid)
	h.condition(t, "sim-1", phonebooth.Ready)
}

func TestC03_ARunnerThatDoesNotExistEndsTheAttemptAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	for _, name := range []string{"missing", "never-heard-of"} {
		r := h.ended(t, h.assign("sim-1", v1.AgentTask{Goal: "g", Runner: name}))
		check(t, r, "failed", "runner_missing")
	}
	check(t, h.ended(t, h.goal("sim-1", "print next")), "done", "")
}

func TestC05_ASilentRunnerKeepsItsLease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.goal("sim-1", fmt.Sprintf("sleep %.1f", 1.5*shortTTL.Seconds()))
	check(t, h.ended(t, a), "done", "")
	h.do(func() {
		if a.renewals < 3 || a.late != nil {
			t.Errorf("%d renewals, late = %v, want at least 3 and a report in time", a.renewals, a.late)
		}
	})
}

func TestC12_ADeviceThatCannotBeCleanedIsUnhealthyUntilItCan(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.bridge.FailClose("sim-1", 2)
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
	h.condition(t, "sim-1", phonebooth.Unhealthy)
	h.condition(t, "sim-1", phonebooth.Ready)
	check(t, h.ended(t, h.goal("sim-1", "print y")), "done", "")
}

func TestC24_ACancelLeavesNothingAliveThatIgnoresSignals(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	dir := t.TempDir()
	a := h.shell("sim-1", "trap '' INT TERM; echo $$ > "+dir+"/runner; setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > "+dir+"/child; while :; do sleep 1; done' & while :; do sleep 1; done")
	runner, child := pidIn(t, dir+"/runner"), pidIn(t, dir+"/child")
	h.do(func() { a.cancel = true })
	check(t, h.ended(t, a), "cancelled", "cancelled")
	dead(t, runner)
	dead(t, child)
	h.condition(t, "sim-1", phonebooth.Ready)
}

func TestACancelThatComesAfterTheEndDoesNotChangeTheOutcome(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.shell("sim-1", "trap 'exit 0' INT; echo up; while :; do sleep 0.05; done")
	h.logged(t, a, "up")
	h.do(func() { a.cancel = true })
	check(t, h.ended(t, a), "cancelled", "cancelled") // it ended because it was asked to
}

func TestC39_ADaemonThatKeepsTheOutputOpenDoesNotKeepTheAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	child := filepath.Join(t.TempDir(), "child")
	a := h.shell("sim-1", "setsid sh -c 'echo $$ > "+child+"; exec sleep 600' & while [ ! -s "+child+" ]; do sleep 0.02; done; echo over")
	check(t, h.ended(t, a), "done", "")
	dead(t, pidIn(t, child))
	h.logged(t, a, "over")
}

func TestC40_GoalsReachTheRunnerUnharmed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 4, agent.Options{})
	var all []*held
	for i, goal := range runnertest.Goals() {
		all = append(all, h.assign(fmt.Sprintf("sim-%d", i%4+1), v1.AgentTask{Goal: goal, Runner: "echo"}))
	}
	for _, a := range all {
		check(t, h.ended(t, a), "done", "")
		h.until(t, "the whole log", func() bool { return len(a.log) >= len(a.Task.Goal) })
		if got := string(a.log); got != a.Task.Goal {
			t.Errorf("the goal %.60q arrived as %.60q", a.Task.Goal, got)
		}
	}
}

func TestC41_NoSecretReachesARunnerOrALog(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{Environ: append(os.Environ(), "PHONEBOOTH_TOKEN=hunter2", "OTHER_SECRET=hunter2")})
	a := h.shell("sim-1", "env; ls -la /proc/self/ >/dev/null; cat /proc/$PPID/cmdline; pwd; cat \"$PHONEBOOTH_INPUT\"")
	check(t, h.ended(t, a), "done", "")
	identity, err := os.ReadFile(filepath.Join(h.dir, "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(string(identity), `"secret":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	h.logged(t, a, "PHONEBOOTH_TASK_ID=task_1")
	h.do(func() {
		for name, text := range map[string]string{"the runner's log": string(a.log), "the agent's log": h.logs.String()} {
			for what, value := range map[string]string{"lease id": "lease_secret", "variable": "hunter2", "agent's secret": secret} {
				if strings.Contains(text, value) {
					t.Errorf("the %s is in %s:\n%s", what, name, text)
				}
			}
		}
	})
}

func TestPortsOfDevicesDoNotOverlap(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3, agent.Options{})
	var ports []string
	for i := range 3 {
		a := h.shell(fmt.Sprintf("sim-%d", i+1), "echo port=$PHONEBOOTH_PORT_BASE; read x < "+fifo(t))
		h.logged(t, a, "port=")
		h.do(func() { ports = append(ports, strings.TrimSpace(string(a.log))) })
		h.release(t, a)
	}
	slices.Sort(ports)
	if want := []string{"port=20000", "port=20020", "port=20040"}; !slices.Equal(ports, want) {
		t.Errorf("ports = %q, want %q", ports, want)
	}
}

func TestAStopGivesBackWhatRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.goal("sim-1", "print up; hang")
	h.logged(t, a, "up")
	began := time.Now()
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	check(t, h.ended(t, a), "abandoned", "agent_stopping")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %v, want no longer than the ladder", took)
	}
	if left, _ := os.ReadDir(filepath.Join(h.dir, "journal")); len(left) > 0 {
		t.Errorf("the journal holds %v, want nothing", left)
	}
}
