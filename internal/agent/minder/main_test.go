//go:build linux

package minder_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

const (
	// killTime is what design section 5 grants for a kill (K).
	killTime = 3 * time.Second
	// patience is for what has no limit of its own, on a machine that is busy.
	patience = 20 * time.Second

	agentVerb = "__agent"
	// leapVar names a file; while it is there, the minder's lease time is an hour later.
	leapVar = "MINDER_TEST_LEAP"
)

// TestMain makes the test binary what the phonebooth binary is: its own minder. As
// agentVerb it is an agent that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case minder.Verb:
			os.Exit(minder.Main(minder.Options{Now: leapingClock(os.Getenv(leapVar))}))
		case agentVerb:
			os.Exit(agent(os.Args[2]))
		}
	}
	// The race detector lets every process sleep for a second at its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func leapingClock(path string) func() time.Duration {
	if path == "" {
		return nil
	}
	return func() time.Duration {
		if _, err := os.Stat(path); err == nil {
			return boottime.Now() + time.Hour
		}
		return boottime.Now()
	}
}

// life is what an agent process is told and tells.
type life struct {
	Spec   testSpec
	Lease  time.Duration // each renewal moves the deadline this far ahead
	Every  time.Duration
	Record minder.Record
	Runner int
}

// testSpec is the part of a Spec that can be written down.
type testSpec struct {
	Script, Dir, Cookie string
}

// agent runs one runner, renewing its lease for ever, until it is killed or the runner
// ends. It prints its life once the runner runs, and the exit at the end.
func agent(path string) int {
	var l life
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spec := specOf(l.Spec)
	spec.Deadline = boottime.Now() + l.Lease
	m, err := minder.Start(context.Background(), spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l.Record, l.Runner = m.Record(), m.Runner()
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(l)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), l.Every)
		exit, err := m.Wait(ctx)
		cancel()
		if err == nil {
			_ = out.Encode(exit)
			return 0
		}
		m.Extend(boottime.Now() + l.Lease)
	}
}

func specOf(s testSpec) minder.Spec {
	return minder.Spec{
		Argv:     []string{"sh", "-c", s.Script},
		Dir:      s.Dir,
		Env:      []string{"PATH=" + os.Getenv("PATH")},
		LogPath:  filepath.Join(s.Dir, "log"),
		ExitPath: filepath.Join(s.Dir, "exit.json"),
		Cookie:   s.Cookie,
		Deadline: boottime.Now() + time.Hour,
	}
}

// script is a Spec for a shell script in a directory of its own.
func script(t *testing.T, text string) minder.Spec {
	t.Helper()
	dir := t.TempDir()
	cookie := "minder-test-" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.Itoa(os.Getpid())
	return specOf(testSpec{Script: text, Dir: dir, Cookie: cookie})
}

// start starts spec and sees to it that nothing of it outlives the test.
func start(t *testing.T, spec minder.Spec) *minder.Minder {
	t.Helper()
	m, err := minder.Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		m.Kill()
		_, _ = m.Wait(context.Background())
	})
	return m
}

// wait returns the exit, which must come, be in the exit file, and leave nothing.
func wait(t *testing.T, m *minder.Minder, spec minder.Spec) minder.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := m.Wait(ctx)
	if err != nil {
		t.Fatalf("Wait: %v; log: %s", err, contentOf(spec.LogPath))
	}
	if exit.StrayLeft != 0 {
		t.Errorf("stray_left = %d, want 0", exit.StrayLeft)
	}
	if alive(m.PID()) || alive(m.Runner()) {
		t.Errorf("minder alive: %v, runner alive: %v; want both dead after Wait", alive(m.PID()), alive(m.Runner()))
	}
	return exit
}

// launchAgent starts an agent process with one runner and returns it once that runs.
func launchAgent(t *testing.T, text string, lease, every time.Duration) (*exec.Cmd, life, *bufio.Scanner) {
	t.Helper()
	spec := script(t, text)
	l := life{Spec: testSpec{Script: text, Dir: spec.Dir, Cookie: spec.Cookie}, Lease: lease, Every: every}
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "life.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], agentVerb, path)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_, _ = minder.KillLeftovers(context.Background(), l.Record)
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the agent died before its runner ran")
	}
	if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return cmd, l, lines
}

// pidFrom waits for a script to write a process id to a file of its directory.
func pidFrom(t *testing.T, dir, name string) int {
	t.Helper()
	pid := 0
	eventually(t, name+" holds a process id", func() bool {
		pid, _ = strconv.Atoi(strings.TrimSpace(contentOf(filepath.Join(dir, name))))
		return pid != 0
	})
	return pid
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is still not so: %s", patience, what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// deadBy fails unless the processes are dead by a moment of lease time.
func deadBy(t *testing.T, by time.Duration, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for alive(pid) {
			if boottime.Now() > by {
				t.Fatalf("process %d is alive %v after it had to be dead", pid, boottime.Now()-by)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// alive is not what the package calls alive: the tests look for themselves.
func alive(pid int) bool {
	if pid == 0 {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return false
	}
	return !strings.Contains(string(status), "State:\tZ") && !strings.Contains(string(status), "State:\tX")
}

func contentOf(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}
