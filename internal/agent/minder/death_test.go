//go:build linux

package minder_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// withDaemon is a runner that has a child in a session of its own.
const withDaemon = `setsid sh -c 'echo $$ > daemon; exec sleep 1000' & exec sleep 1000`

func TestWhenTheAgentIsKilledTheRunnerDies(t *testing.T) {
	t.Parallel()
	agent, l, _ := launchAgent(t, withDaemon, time.Hour, time.Minute)
	daemon := pidFrom(t, l.Spec.Dir, "daemon")
	_ = agent.Process.Kill()
	_ = agent.Wait()
	deadBy(t, boottime.Now()+killTime, l.Runner, daemon)

	// The next life of the agent waits for the minder, and can report.
	if _, err := minder.KillLeftovers(t.Context(), l.Record); err != nil {
		t.Errorf("KillLeftovers: %v", err)
	}
	exit, err := minder.ReadExit(specOf(l.Spec).ExitPath)
	if err != nil || exit.Cause != minder.AgentGone || exit.Signal != "SIGKILL" {
		t.Errorf("ReadExit = %+v, %v; want agent_gone by SIGKILL", exit, err)
	}
}

func TestWhenTheAgentIsStoppedTheRunnerDiesAtItsDeadline(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	agent, l, lines := launchAgent(t, withDaemon, lease, 100*time.Millisecond)
	daemon := pidFrom(t, l.Spec.Dir, "daemon")
	_ = agent.Process.Signal(syscall.SIGSTOP)
	deadBy(t, boottime.Now()+lease+killTime, l.Runner, daemon)
	_ = agent.Process.Signal(syscall.SIGCONT) // its late renewals change nothing

	var exit minder.Exit
	if !lines.Scan() {
		t.Fatal("the continued agent told nothing")
	}
	if err := json.Unmarshal(lines.Bytes(), &exit); err != nil || exit.Cause != minder.Deadline {
		t.Errorf("exit = %+v, %v; want deadline", exit, err)
	}
}

func TestWhenTheMinderIsKilledTheRunnerDies(t *testing.T) {
	t.Parallel()
	spec := script(t, withDaemon)
	m := start(t, spec)
	daemon := pidFrom(t, spec.Dir, "daemon")
	if err := syscall.Kill(m.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit := wait(t, m, spec)
	// The runner may be counted too: the kernel kills it while the agent sweeps.
	if exit.Cause != minder.MinderLost || exit.StrayKilled < 1 || !strings.Contains(exit.Detail, "killed") {
		t.Errorf("exit = %+v, want minder_lost, the stray killed, and by what the minder died", exit)
	}
	if alive(daemon) {
		t.Error("the daemon is alive")
	}
}

// withScrubbed leaves a daemon of its own session without parents and without any environment, and one of its own, whose
// number stands in a file.
const withScrubbed = `setsid env -i sh -c 'sleep 1000 & echo $! > daemon; exec sleep 1001' & sleep 0.05; exec sleep 1002`

func TestWhenTheMinderIsKilledWhatHasEmptiedItsEnvironmentDiesToo(t *testing.T) {
	t.Parallel()
	spec, other := script(t, withScrubbed), script(t, withScrubbed)
	other.Cookie += "-other"
	m, neighbour := start(t, spec), start(t, other)
	daemon, spared := pidFrom(t, spec.Dir, "daemon"), pidFrom(t, other.Dir, "daemon")
	if err := syscall.Kill(m.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, m, spec); exit.Cause != minder.MinderLost {
		t.Errorf("exit = %+v, want minder_lost", exit)
	}
	if alive(daemon) {
		t.Error("the daemon is alive")
	}
	if !alive(spared) || !alive(neighbour.Runner()) {
		t.Error("another attempt's daemon or runner was killed")
	}
}

func TestWhenAgentAndMinderAreKilledWhatHasEmptiedItsEnvironmentDies(t *testing.T) {
	t.Parallel()
	agent, l, _ := launchAgent(t, withScrubbed, time.Minute, time.Second)
	daemon := pidFrom(t, l.Spec.Dir, "daemon")
	if err := errors.Join(syscall.Kill(l.Record.PID, syscall.SIGSTOP), agent.Process.Kill(), syscall.Kill(l.Record.PID, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if _, err := minder.KillLeftovers(t.Context(), l.Record); err != nil {
		t.Fatal(err)
	}
	if alive(daemon) {
		t.Error("the daemon is alive")
	}
}

func TestWhenTheMinderIsStoppedTheAgentKillsIt(t *testing.T) {
	t.Parallel()
	ends := map[minder.Cause]func(*minder.Minder){
		minder.Killed:   (*minder.Minder).Kill,
		minder.Stopped:  (*minder.Minder).Stop,
		minder.Deadline: func(m *minder.Minder) { m.Extend(boottime.Now()) },
	}
	var all sync.WaitGroup // at once in one test: each takes as long as the agent's patience
	for want, end := range ends {
		spec := script(t, withDaemon)
		spec.Cookie += string(want)
		m := start(t, spec)
		daemon := pidFrom(t, spec.Dir, "daemon")
		if err := syscall.Kill(m.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		end(m)
		all.Go(func() {
			exit, err := m.Wait(t.Context())
			if err != nil || exit.Cause != want || exit.StrayLeft != 0 {
				t.Errorf("Wait = %+v, %v; want %s", exit, err, want)
			}
			if alive(daemon) || alive(m.Runner()) {
				t.Errorf("%s: daemon alive: %v, runner alive: %v; want neither", want, alive(daemon), alive(m.Runner()))
			}
		})
	}
	all.Wait()
}

func TestASignalThatNobodyOfOursSentIsToldApart(t *testing.T) {
	t.Parallel()
	for name, victim := range map[string]func(*minder.Minder) int{
		"to the runner": (*minder.Minder).Runner,
		"to the minder": (*minder.Minder).PID,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := script(t, withDaemon)
			m := start(t, spec)
			daemon := pidFrom(t, spec.Dir, "daemon")
			if err := syscall.Kill(victim(m), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if exit := wait(t, m, spec); exit.Cause != minder.Signaled || exit.Signal == "" {
				t.Errorf("exit = %+v, want signaled, and by what", exit)
			}
			if alive(daemon) {
				t.Error("the daemon is alive")
			}
		})
	}
}

func TestWhatBothLeftIsKilledByTheNextLife(t *testing.T) {
	t.Parallel()
	agent, l, _ := launchAgent(t, withDaemon, time.Hour, time.Minute)
	daemon := pidFrom(t, l.Spec.Dir, "daemon")
	// First stop the minder: it must not see that its agent is gone.
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		if signal == syscall.SIGKILL {
			_ = agent.Process.Kill()
		}
		if err := syscall.Kill(l.Record.PID, signal); err != nil {
			t.Fatal(err)
		}
	}
	_ = agent.Wait()
	deadBy(t, boottime.Now()+killTime, l.Runner)

	other := l.Record
	other.BootID = "another boot"
	if killed, err := minder.KillLeftovers(t.Context(), other); killed != 0 || err != nil || !alive(daemon) {
		t.Errorf("KillLeftovers of another boot = %d, %v, daemon alive: %v; want nothing done", killed, err, alive(daemon))
	}
	if killed, err := minder.KillLeftovers(t.Context(), l.Record); killed != 1 || err != nil || alive(daemon) {
		t.Errorf("KillLeftovers = %d, %v, daemon alive: %v; want the daemon killed", killed, err, alive(daemon))
	}
	if exit, err := minder.ReadExit(specOf(l.Spec).ExitPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadExit = %+v, %v; want that there is none", exit, err)
	}
}

func TestAMinderThatDoesNotEndIsKilledByTheNextLife(t *testing.T) {
	t.Parallel()
	agent, l, _ := launchAgent(t, withDaemon, time.Hour, time.Minute)
	daemon := pidFrom(t, l.Spec.Dir, "daemon")
	if err := syscall.Kill(l.Record.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if !alive(l.Runner) {
		t.Fatal("the runner is dead already, which proves nothing")
	}
	if _, err := minder.KillLeftovers(t.Context(), l.Record); err != nil {
		t.Errorf("KillLeftovers: %v", err)
	}
	for what, pid := range map[string]int{"minder": l.Record.PID, "runner": l.Runner, "daemon": daemon} {
		if alive(pid) {
			t.Errorf("the %s is alive", what)
		}
	}
}

func TestASweepKillsTheBearersOfItsCookieAlone(t *testing.T) {
	t.Parallel()
	bearer := func(cookie string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{minder.CookieVar + "=" + cookie}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	mine := fmt.Sprintf("sweep-%d", os.Getpid())
	first, longer, other := bearer(mine+".1"), bearer(mine+".12"), bearer("x"+mine+".1")
	if killed, err := minder.Sweep(t.Context(), mine+".1"); killed != 1 || err != nil {
		t.Errorf("Sweep = %d, %v; want 1", killed, err)
	}
	if alive(first.Process.Pid) || !alive(longer.Process.Pid) || !alive(other.Process.Pid) {
		t.Error("want only the exact cookie's bearer dead")
	}
	if killed, err := minder.SweepPrefix(t.Context(), mine+"."); killed != 1 || err != nil {
		t.Errorf("SweepPrefix = %d, %v; want 1", killed, err)
	}
	if alive(longer.Process.Pid) || !alive(other.Process.Pid) {
		t.Error("want the longer cookie's bearer dead, and the other alive")
	}
	if _, err := minder.Sweep(t.Context(), ""); err == nil {
		t.Error("Sweep of no cookie worked, want an error")
	}
}

func TestOrphansThatEndAreReapedWhileTheRunnerRuns(t *testing.T) {
	t.Parallel()
	spec := script(t, `for i in 1 2 3 4 5; do (sleep 0.01 & echo $! >> orphans); done; echo x >> orphans; exec sleep 1000`)
	m := start(t, spec)
	path := spec.Dir + "/orphans"
	eventually(t, "all orphans are gone, not even zombies", func() bool {
		pids := strings.Fields(contentOf(path))
		if len(pids) != 6 {
			return false
		}
		for _, pid := range pids[:5] {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				return false
			}
		}
		return true
	})
	if !alive(m.Runner()) {
		t.Error("the runner is dead, want it running")
	}
}

func TestALockOutlivesAnAgentThatDies(t *testing.T) {
	t.Parallel()
	spec := script(t, `exec sleep 1000`)
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	spec.Lock = open()
	if err := unix.Flock(int(spec.Lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	m := start(t, spec)
	if err := spec.Lock.Close(); err != nil { // as the agent's death does
		t.Fatal(err)
	}
	other := open()
	t.Cleanup(func() { _ = other.Close() })
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("locking under a live runner: %v, want it refused", err)
	}
	m.Kill()
	wait(t, m, spec)
	eventually(t, "the lock is free", func() bool { return unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
}
