//go:build linux

package minder_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

func TestARunnerEndsByItself(t *testing.T) {
	t.Parallel()
	spec := script(t, `echo out; echo err >&2; exit 7`)
	exit := wait(t, start(t, spec), spec)
	if exit.Cause != minder.Exited || exit.ExitCode != 7 || exit.Signal != "" {
		t.Errorf("exit = %+v, want exited with 7", exit)
	}
	if got := contentOf(spec.LogPath); got != "out\nerr\n" {
		t.Errorf("log = %q, want both streams in order", got)
	}
	if exit.Started <= 0 || exit.Ended < exit.Started || exit.BootID != boottime.BootID() || exit.Wall.IsZero() {
		t.Errorf("times = %+v, want started before ended, on this boot", exit)
	}
	saved, err := minder.ReadExit(spec.ExitPath)
	if diff := cmp.Diff(exit, saved); err != nil || diff != "" {
		t.Errorf("ReadExit: %v, difference to Wait (-wait +file):\n%s", err, diff)
	}
}

func TestAHangIsKilledAtTheDeadlineWithItsChildren(t *testing.T) {
	t.Parallel()
	spec := script(t, `sleep 1000 & echo $! > child; exec sleep 1000`)
	m := start(t, spec)
	child := pidFrom(t, spec.Dir, "child")
	deadline := boottime.Now() + 300*time.Millisecond
	m.Extend(deadline)
	exit := wait(t, m, spec)
	if exit.Cause != minder.Deadline || exit.Signal != "SIGKILL" || exit.ExitCode != -1 {
		t.Errorf("exit = %+v, want killed at the deadline", exit)
	}
	if exit.Ended < deadline || exit.Ended > deadline+killTime {
		t.Errorf("ended %v after the deadline, want within %v", exit.Ended-deadline, killTime)
	}
	if alive(child) {
		t.Error("the child outlived its runner")
	}
	if exit.StrayKilled != 1 {
		t.Errorf("stray_killed = %d, want 1", exit.StrayKilled)
	}
}

func TestC24_NothingIsAliveAfterTheLadder(t *testing.T) {
	t.Parallel()
	spec := script(t, `trap '' INT TERM
setsid sh -c 'trap "" INT TERM; echo $$ > own; sleep 1000; sleep 1000' &
env -i PATH="$PATH" setsid sh -c '(sleep 1000 & echo $! > nameless)' &
echo ready > ready
while :; do sleep 1; done`)
	spec.Ladder = minder.Ladder{First: syscall.SIGINT, Grace: 100 * time.Millisecond, TermGrace: 100 * time.Millisecond}
	m := start(t, spec)
	own, nameless := pidFrom(t, spec.Dir, "own"), pidFrom(t, spec.Dir, "nameless")
	eventually(t, "the runner ignores signals", func() bool { return contentOf(filepath.Join(spec.Dir, "ready")) != "" })

	m.Stop()
	exit := wait(t, m, spec)
	if exit.Cause != minder.Stopped || exit.Signal != "SIGKILL" {
		t.Errorf("exit = %+v, want stopped by SIGKILL", exit)
	}
	if alive(own) || alive(nameless) {
		t.Errorf("alive: in its own session %v, and without a cookie %v; want neither", alive(own), alive(nameless))
	}
	if killed, err := minder.Sweep(t.Context(), spec.Cookie); killed != 0 || err != nil {
		t.Errorf("Sweep = %d, %v; want nothing left to kill", killed, err)
	}
}

func TestStopGoesDownTheLadderOnlyAsFarAsItMust(t *testing.T) {
	t.Parallel()
	ladder := minder.Ladder{First: syscall.SIGINT, Grace: 200 * time.Millisecond, TermGrace: time.Hour}
	for _, c := range []struct {
		name, script string
		ladder       minder.Ladder
		want         int
	}{
		{"first signal", `trap 'exit 5' INT; trap 'exit 6' TERM`, minder.Ladder{First: syscall.SIGINT, Grace: time.Hour}, 5},
		{"SIGTERM after the grace", `trap '' INT; trap 'exit 6' TERM`, ladder, 6},
		{"SIGTERM at once when there is no first", `trap 'exit 5' INT; trap 'exit 6' TERM`, minder.Ladder{TermGrace: time.Hour}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := script(t, c.script+`; echo x > ready; while :; do sleep 0.05; done`)
			spec.Ladder = c.ladder
			m := start(t, spec)
			eventually(t, "the traps are set", func() bool { return contentOf(filepath.Join(spec.Dir, "ready")) != "" })
			m.Stop()
			m.Stop() // asking twice changes nothing
			if exit := wait(t, m, spec); exit.Cause != minder.Stopped || exit.ExitCode != c.want {
				t.Errorf("exit = %+v, want stopped with %d", exit, c.want)
			}
		})
	}
}

func TestTheDeadlineHoldsDuringTheLadder(t *testing.T) {
	t.Parallel()
	spec := script(t, `trap '' INT TERM; echo x > ready; while :; do sleep 1; done`)
	spec.Ladder = minder.Ladder{First: syscall.SIGINT, Grace: time.Hour, TermGrace: time.Hour}
	m := start(t, spec)
	eventually(t, "the traps are set", func() bool { return contentOf(filepath.Join(spec.Dir, "ready")) != "" })
	m.Stop()
	deadline := boottime.Now() + 200*time.Millisecond
	m.Extend(deadline)
	if exit := wait(t, m, spec); exit.Cause != minder.Deadline || exit.Ended > deadline+killTime {
		t.Errorf("exit = %+v, want killed at the deadline %v", exit, deadline)
	}
}

func TestC39_ADaemonThatKeepsTheOutputOpenDoesNotKeepTheEnd(t *testing.T) {
	t.Parallel()
	spec := script(t, `setsid sh -c 'echo $$ > daemon; echo from the daemon; exec sleep 1000' &
while [ ! -s daemon ]; do sleep 0.02; done; echo bye; exit 0`)
	exit := wait(t, start(t, spec), spec)
	if exit.Cause != minder.Exited || exit.ExitCode != 0 || exit.StrayKilled != 1 {
		t.Errorf("exit = %+v, want exited with 0 and one stray killed", exit)
	}
	if daemon := pidFrom(t, spec.Dir, "daemon"); alive(daemon) {
		t.Error("the daemon is alive")
	}
	if log := contentOf(spec.LogPath); !strings.Contains(log, "bye") {
		t.Errorf("log = %q, want the runner's last words", log)
	}
}

func TestC50_ALeapOfLeaseTimeKills(t *testing.T) {
	t.Parallel()
	spec := script(t, `exec sleep 1000`)
	leap := filepath.Join(spec.Dir, "leap")
	spec.Command.Env = append(os.Environ(), leapVar+"="+leap)
	spec.Deadline = boottime.Now() + time.Minute
	m := start(t, spec)
	if err := os.WriteFile(leap, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deadBy(t, boottime.Now()+killTime, m.Runner())
	if exit := wait(t, m, spec); exit.Cause != minder.Deadline {
		t.Errorf("exit = %+v, want killed at a deadline that the clock leapt over", exit)
	}
}

func TestADeadlineThatHasPassedCannotBeMoved(t *testing.T) {
	t.Parallel()
	spec := script(t, `exec sleep 1000`)
	m := start(t, spec)
	m.Extend(boottime.Now() - 1)
	m.Extend(boottime.Now() + time.Hour)
	if exit := wait(t, m, spec); exit.Cause != minder.Deadline {
		t.Errorf("exit = %+v, want deadline", exit)
	}
}

func TestADeadlineInThePastStartsNothing(t *testing.T) {
	t.Parallel()
	spec := script(t, `echo ran > ran`)
	spec.Deadline = boottime.Now()
	m := start(t, spec)
	exit := wait(t, m, spec)
	if exit.Cause != minder.Deadline || exit.Started != 0 || m.Runner() != 0 {
		t.Errorf("exit = %+v, want a deadline without a start", exit)
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "ran")); err == nil {
		t.Error("the runner ran")
	}
}

func TestAnEndThatCannotBeWrittenIsStillTold(t *testing.T) {
	t.Parallel()
	spec := script(t, `exit 3`)
	spec.ExitPath = filepath.Join(spec.Dir, "nowhere", "exit.json")
	if exit := wait(t, start(t, spec), spec); exit.Cause != minder.Exited || exit.ExitCode != 3 {
		t.Errorf("exit = %+v, want exited with 3", exit)
	}
}
