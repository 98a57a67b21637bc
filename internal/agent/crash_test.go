package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
)

// remoteHouse is a control plane for agents in processes of their own, with one home.
func remoteHouse(t *testing.T) (s *scripted, url, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := newHome(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	s = newScripted(shortTTL)
	return s, s.serve(t), dir
}

func TestC06_ARestartedAgentKillsGivesBackAndOnlyThenAsksForWork(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	first := startRemote(t, url, dir)
	s.condition(t, "sim-1", phonebooth.Ready)
	pids := t.TempDir()
	a := s.shell("sim-1", "trap '' INT TERM HUP; echo $$ > "+pids+"/runner; setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > "+pids+"/child; while :; do sleep 1; done' & while :; do sleep 1; done")
	runner, child := pidIn(t, pids+"/runner"), pidIn(t, pids+"/child")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	s.do(func() { s.calls = nil })

	startRemote(t, url, dir)
	check(t, s.ended(t, a), "abandoned", "agent_restarted")
	if alive(runner) || alive(child) {
		t.Error("processes of the attempt were alive when it was given back")
	}
	s.until(t, "a claim", func() bool { return slices.Contains(s.calls, "claim") })
	s.do(func() {
		if report, claim := slices.Index(s.calls, "report abandoned"), slices.Index(s.calls, "claim"); report > claim || s.calls[0] != "start" {
			t.Errorf("calls = %q, want the start, the give-back, and then the claim", s.calls)
		}
	})
	check(t, s.ended(t, s.goal("sim-1", "print again")), "done", "")
}

func TestC06_ARunnerThatEndedWhileTheAgentWasGoneIsReportedAsItEnded(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	first := startRemote(t, url, dir)
	s.condition(t, "sim-1", phonebooth.Ready)
	a := s.shell("sim-1", "echo up; read x < "+fifo(t)+"; echo over")
	s.logged(t, a, "up")
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	(&house{scripted: s}).release(t, a)
	eventually(t, "the exit file", func() bool {
		paths, _ := filepath.Glob(filepath.Join(dir, "run", "*", "step-0.0", "exit.json"))
		if len(paths) != 1 {
			return false
		}
		_, err := minder.ReadExit(paths[0])
		return err == nil
	})
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	startRemote(t, url, dir)
	r := s.ended(t, a)
	if check(t, r, "done", ""); r.Runner != "shell" {
		t.Errorf("ran by %q, want shell", r.Runner)
	}
	s.logged(t, a, "over")
}

func TestC06_AnAttemptThatTheJournalNeverSawIsGivenBack(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	a := s.goal("sim-1", "print never")
	s.do(func() { // its claim was answered to an agent that died at once
		s.assigned, a.claimed, a.expires = nil, true, time.Now().Add(time.Minute)
	})
	startRemote(t, url, dir)
	check(t, s.ended(t, a), "abandoned", "agent_restarted")
}

func TestAStartWhoseAnswerWasLostIsRepeated(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	identity := filepath.Join(dir, "identity.json")
	before, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	first := startRemote(t, url, dir)
	s.condition(t, "sim-1", phonebooth.Ready)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	s.mu.Lock()
	id := s.startID
	s.mu.Unlock()
	// As if the first life had died before it wrote the answer down.
	pending := strings.TrimSuffix(string(before), "}") + `,"start_id":"` + id + `"}`
	if err := os.WriteFile(identity, []byte(pending), 0o600); err != nil {
		t.Fatal(err)
	}
	s.do(func() { s.inventory.Devices = nil })
	startRemote(t, url, dir)
	s.until(t, "another start", func() bool {
		return len(slices.DeleteFunc(slices.Clone(s.calls), func(c string) bool { return c != "start" })) == 2 && s.incarnation == 1
	})
}

func TestC07_AStoppedAgentsRunnerIsDeadBeforeItsLeaseIsSwept(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	cmd := startRemote(t, url, dir)
	s.condition(t, "sim-1", phonebooth.Ready)
	pids := t.TempDir()
	a := s.shell("sim-1", "trap '' INT TERM HUP; echo $$ > "+pids+"/runner; while :; do date +%s.%N > "+pids+"/driven; sleep 0.05; done")
	runner := pidIn(t, pids+"/runner")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	dead(t, runner)
	s.do(func() {
		if sweep := a.expires.Add(s.policy.Grace); time.Now().After(sweep) {
			t.Errorf("the runner died %v after the sweep could have taken its lease", time.Since(sweep))
		}
	})
	swept := func() bool { return time.Now().After(a.expires.Add(s.policy.Grace)) }
	eventually(t, "the sweep", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return swept() })
	s.do(func() { a.lost = "expired" })
	info, err := os.Stat(pids + "/driven")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r := s.ended(t, a)
	check(t, r, "abandoned", "fenced")
	s.do(func() {
		if a.report != nil {
			t.Error("the late report was taken, want it refused and kept as evidence")
		}
	})
	s.condition(t, "sim-1", phonebooth.Ready)
	if after, err := os.Stat(pids + "/driven"); err != nil || !after.ModTime().Equal(info.ModTime()) {
		t.Errorf("something was driven after the fence: %v", err)
	}
}

func TestC50_ARunnerIsDeadWhenTheMachineWakesFromALongSleep(t *testing.T) {
	t.Parallel()
	leap := filepath.Join(t.TempDir(), "leap")
	h := newHouse(t, 1, agent.Options{
		Now: leaping(leap), Minder: minder.Command{Env: append(os.Environ(), leapVar+"="+leap)},
	})
	pids := t.TempDir()
	a := h.shell("sim-1", "trap '' INT TERM; echo $$ > "+pids+"/runner; while :; do sleep 1; done")
	runner := pidIn(t, pids+"/runner")
	if err := os.WriteFile(leap, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	dead(t, runner)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the runner lived on for %v, want it dead within a look and a kill", took)
	}
	r := h.ended(t, a)
	if r.Code != "fenced" && r.Code != "timeout" { // both have passed
		t.Errorf("report = %s %q, want fenced or timeout", r.Outcome, r.Code)
	}
}

func TestC10_ASupersededAgentKillsAndStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	pids := t.TempDir()
	a := h.shell("sim-1", "trap '' INT TERM; echo $$ > "+pids+"/runner; while :; do sleep 1; done")
	runner := pidIn(t, pids+"/runner")
	h.refused = true
	h.do(func() { h.incarnation++ })
	select {
	case <-h.over:
		if !errors.Is(h.err, agent.ErrSuperseded) {
			t.Errorf("Run = %v, want ErrSuperseded", h.err)
		}
	case <-time.After(patience):
		t.Fatal("the agent went on")
	}
	dead(t, runner)
	h.do(func() {
		if a.report != nil {
			t.Error("a superseded agent reported, want its report kept for its next life")
		}
	})
}

func TestAnAgentWhoseHostWasRemovedKillsAndStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	pids := t.TempDir()
	h.shell("sim-1", "trap '' INT TERM; echo $$ > "+pids+"/runner; while :; do sleep 1; done")
	runner := pidIn(t, pids+"/runner")
	h.refused = true
	h.do(func() { h.removed = time.Now() })
	select {
	case <-h.over:
		if phonebooth.CodeOf(h.err) != "unauthenticated" {
			t.Errorf("Run = %v, want unauthenticated", h.err)
		}
	case <-time.After(patience):
		t.Fatal("the agent went on")
	}
	dead(t, runner)
}

func TestC10_ACopyOfAnAgentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	h.do(func() { h.incarnation, h.startID = h.incarnation+1, "another" }) // the other copy has started
	h.refused = true
	h.start(t, agent.Options{})
	select {
	case <-h.over:
		if phonebooth.CodeOf(h.err) != "host_identity_conflict" {
			t.Errorf("Run = %v, want host_identity_conflict", h.err)
		}
	case <-time.After(patience):
		t.Fatal("the copy was not refused")
	}
}

func TestADeviceUnderATakenLockIsNotTouched(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	release, err := agent.LockDevice(filepath.Join(h.dir, "device"), "sim:sim-1")
	if err != nil {
		t.Fatal(err)
	}
	check(t, h.ended(t, h.goal("sim-1", "print never")), "abandoned", "try_again")
	h.do(func() {
		if got := h.conditionOf("sim-1"); got != phonebooth.Unhealthy {
			t.Errorf("the report calls the device %s, want unhealthy: another attempt would be given back as well", got)
		}
	})
	if err := release(); err != nil {
		t.Fatal(err)
	}
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
}
