package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// files lists what matches a pattern in an agent's home.
func files(dir string, pattern ...string) []string {
	found, _ := filepath.Glob(filepath.Join(append([]string{dir}, pattern...)...))
	return found
}

// spooled waits until all that a life needs no program for is done without the control plane: the report is in the spool and
// the journal has forgotten the lease.
func spooled(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "a report in the spool and an empty journal", func() bool {
		return len(files(dir, "spool", "*.json")) == 1 && len(files(dir, "journal", "*.json")) == 0
	})
}

// onDisk reports whether a log in a home ends with text.
func onDisk(dir, text string) bool {
	return slices.ContainsFunc(files(dir, "run", "*", "log"), func(path string) bool {
		log, err := os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(log), text)
	})
}

// die ends an agent's process with a signal.
func die(t *testing.T, cmd *exec.Cmd, with syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(with); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it says how it was ended
}

// wholeLog waits for the whole log of a, and then for the end of what was kept of it.
func wholeLog(t *testing.T, s *scripted, dir string, a *held) {
	t.Helper()
	s.logged(t, a, "over\n")
	s.do(func() {
		if string(a.log) != "up\nover\n" {
			t.Errorf("log = %q, want it whole", a.log)
		}
	})
	eventually(t, "the end of the working directory", func() bool { return len(files(dir, "run", "*")) == 0 })
	s.do(func() {
		sizes := map[string]int{v1.LogRunner: len(a.log), v1.LogDevice: len(a.device), v1.LogEvents: len(a.events)}
		for _, name := range a.report.LogsFollow { // what was announced has its end
			if end, told := a.ends[name]; !told || end != int64(sizes[name]) {
				t.Errorf("the end of log %s was told as %d (%v), want %d", name, end, told, sizes[name])
			}
		}
	})
}

var deaths = map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL}

func TestC36_ALogThatEndedInAnOutageOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	for name, signal := range deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url, dir := remoteHouse(t)
			first := startRemote(t, url, dir)
			s.condition(t, "sim-1", phonebooth.Ready)
			a := s.shell("sim-1", "echo up; read x < "+fifo(t)+"; echo over")
			s.logged(t, a, "up")
			s.do(func() { s.down = true })
			(&house{scripted: s}).release(t, a)
			spooled(t, dir)
			die(t, first, signal)
			s.do(func() { s.down, a.expires = false, time.Now().Add(time.Minute) })
			startRemote(t, url, dir)
			check(t, s.ended(t, a), "done", "")
			wholeLog(t, s, dir, a)
		})
	}
}

// reportedBeforeDeath lets an attempt end and be reported while nothing that it left is taken, and the agent die after that and
// come back.
func (s *scripted) reportedBeforeDeath(t *testing.T, a *held, first *exec.Cmd, signal syscall.Signal, url, dir string) {
	t.Helper()
	s.do(func() { s.deaf = true })
	(&house{scripted: s}).release(t, a)
	check(t, s.ended(t, a), "done", "")
	eventually(t, "a forgotten lease", func() bool {
		return len(files(dir, "spool", "*.json")) == 0 && len(files(dir, "journal", "*.json")) == 0
	})
	die(t, first, signal)
	s.do(func() { s.deaf = false })
	startRemote(t, url, dir)
}

func TestC36_ALogOutlivesTheAgentAlsoAfterItsReport(t *testing.T) {
	t.Parallel()
	for name, signal := range deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url, dir := remoteHouse(t)
			first := startRemote(t, url, dir)
			s.condition(t, "sim-1", phonebooth.Ready)
			a := s.shell("sim-1", "echo up; read x < "+fifo(t)+"; echo over")
			s.logged(t, a, "up")
			s.reportedBeforeDeath(t, a, first, signal, url, dir)
			s.do(func() {
				if !slices.Contains(a.report.LogsFollow, v1.LogRunner) {
					t.Errorf("the report announced %q, want the runner's log", a.report.LogsFollow)
				}
			})
			wholeLog(t, s, dir, a)
		})
	}
}

func TestC36_TheLogOfAnAttemptThatDiedWithItsAgentIsSent(t *testing.T) {
	t.Parallel()
	for name, lives := range map[string]int{"by the next life": 1, "by the one after": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url, dir := remoteHouse(t)
			life := startRemote(t, url, dir)
			s.condition(t, "sim-1", phonebooth.Ready)
			a := s.shell("sim-1", "echo up; read x < "+fifo(t)+"; echo over; exec sleep 600")
			s.logged(t, a, "up")
			s.do(func() { s.down = true })
			(&house{scripted: s}).release(t, a)
			eventually(t, "all of the log on the disk", func() bool { return onDisk(dir, "over\n") })
			die(t, life, syscall.SIGKILL)
			for range lives - 1 {
				life = startRemote(t, url, dir)
				spooled(t, dir)
				die(t, life, syscall.SIGKILL)
			}
			s.do(func() { s.down, a.expires = false, time.Now().Add(time.Minute) })
			startRemote(t, url, dir)
			if r := s.ended(t, a); r.Outcome != "abandoned" {
				t.Errorf("report = %s %q, want it given back", r.Outcome, r.Code)
			}
			wholeLog(t, s, dir, a)
		})
	}
}
