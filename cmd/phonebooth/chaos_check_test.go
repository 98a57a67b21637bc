//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
)

// check looks at what a round left, when all its tasks have ended and all devices are ready.
func (r *ruin) check(t *testing.T, k round, target string, tasks []string) {
	t.Helper()
	for _, p := range r.processes() {
		if p.variable(minder.CookieVar) != "" {
			t.Errorf("alive when every device was ready: %v", p)
		}
	}
	var left []seen
	eventuallyOr(t, func() bool { left = r.strangers(); return len(left) == 0 }, func() {
		t.Errorf("alive when everything was over: %v", left)
	})
	attempts := map[string][]v1.Attempt{}
	for _, id := range tasks {
		attempts[id] = r.attempts(t, id)
		r.checkEnd(t, r.task(t, id), k.phase == stopping && id == target, attempts[id])
	}
	stopped := map[string]bool{}
	for _, d := range r.deeds() {
		if d.what == "overlap" {
			t.Errorf("two drivers at once on one device: attempt %s of %s found its lock taken", d.attempt, d.task)
		}
		if d.what == "stop" {
			stopped[d.task+" "+d.attempt] = true
		}
	}
	for _, d := range r.deeds() {
		exit, known := r.exitOf(d)
		if d.what != "start" || !known || exit.Cause != minder.Exited || exit.ExitCode != 0 || !stopped[d.task+" "+d.attempt] {
			continue // nobody knows that it ended well and by itself
		}
		n, err := strconv.Atoi(d.attempt)
		if err != nil || n < 1 || n > len(attempts[d.task]) {
			t.Errorf("attempt %s of %s drove a device and is not on record", d.attempt, d.task)
			continue
		}
		r.checkKept(t, k, d.task, n)
	}
}

// strangers lists what is alive in the world and is no control plane, agent or adb server.
func (r *ruin) strangers() []seen {
	return slices.DeleteFunc(r.processes(), func(p seen) bool {
		known := p.pid == r.plane.cmd.Process.Pid || p.pid == r.host.cmd.Process.Pid
		return known || slices.ContainsFunc(r.rack.servers(), func(s seen) bool { return s.pid == p.pid })
	})
}

// checkEnd checks how a task ended: one kill is no reason to fail, and only what was cancelled is cancelled.
func (r *ruin) checkEnd(t *testing.T, task v1.Task, cancelled bool, attempts []v1.Attempt) {
	t.Helper()
	want := task.Status == "done" || task.Status == "cancelled" && cancelled
	if !want || task.Attempt > task.MaxAttempts || task.Attempt != len(attempts) {
		t.Errorf("task %s is %s %+v after attempt %d of %d: %+v", task.ID, task.Status, task.Failure, task.Attempt, task.MaxAttempts, attempts)
	}
	if task.Status == "done" {
		var mark string
		if err := json.Unmarshal(task.Result, &mark); err != nil || mark != task.ID+" "+strconv.Itoa(task.Attempt) {
			t.Errorf("task %s is done in attempt %d with the result %s", task.ID, task.Attempt, task.Result)
		}
	}
	for _, a := range attempts {
		if a.Ending == "" || a.EndedAt == nil {
			t.Errorf("task %s attempt %d has no ending", task.ID, a.Number)
		}
	}
}

// checkKept checks that the result of an attempt whose runner ended well by itself is stored: as its outcome; or, when the sweep
// had taken the attempt before, as the late report. What the agent saw goes before what a runner says: a phone that was away.
func (r *ruin) checkKept(t *testing.T, k round, task string, n int) {
	t.Helper()
	kept := func(a v1.Attempt) bool {
		switch a.Ending {
		case "done":
			return true
		case "abandoned":
			return k.victim == adbVictim && a.Reason != nil && a.Reason.Code == "device_lost"
		case "expired":
			return a.LateReport != nil && a.LateReport.Outcome == "done"
		}
		return false
	}
	var a v1.Attempt
	eventuallyOr(t, func() bool { a = r.attempts(t, task)[n-1]; return kept(a) }, func() {
		t.Errorf("a result is lost: attempt %d of %s ended well, and is on record as %+v %+v", n, task, a, a.Reason)
	})
}

// The witness of the kill rounds is worth something: a second driver of a device is seen, also when all that is left of the
// first one is what it left behind.
func TestChaos_ASecondDriverIsSeen(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	if err := os.MkdirAll(b.path("witness"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := b.write(t, "drive.sh", drive)
	for i, want := range []string{"start task 1 " + b.home + "\nstop task 1\n", "overlap task 2\n"} {
		cmd := exec.Command("sh", script)
		cmd.Dir, cmd.Env = b.home, append(append([]string{}, b.env...), "PHONEBOOTH_DEVICE_ID=d", "PHONEBOOTH_TASK_ID=task",
			"PHONEBOOTH_ATTEMPT="+strconv.Itoa(i+1), "PHONEBOOTH_GOAL=0", "PHONEBOOTH_RESULT="+b.path("result.json"))
		_ = cmd.Run() // what it wrote counts
		if got := read(t, b.path("witness/d.log")); !strings.HasSuffix(got, want) {
			t.Errorf("driver %d wrote %q, want %q at its end", i+1, got, want)
		}
	}
	for _, p := range b.processes() {
		p.kill(t)
	}
}
