//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
)

// A phase is how far the target of a round has come when something is killed.
const (
	claimed   = "claimed"   // the agent has written the attempt down, and no more
	starting  = "starting"  // its minder is there, the runner has said nothing yet
	running   = "running"   // the runner drives
	stopping  = "stopping"  // it was asked to stop and takes its time
	reporting = "reporting" // it has ended, the control plane has not heard of that
	cleaning  = "cleaning"  // the task has ended, its device is not in order yet
)

// A victim is what is killed.
const (
	agentVictim   = "agent"
	planeVictim   = "control plane"
	adbVictim     = "adb server"
	minderVictim  = "minder"
	runnerVictim  = "runner"
	agentAndChild = "agent+minder" // in one moment, so that neither can clean up after the other
)

var (
	phases  = []string{claimed, starting, running, stopping, reporting, cleaning}
	victims = []string{agentVictim, planeVictim, adbVictim, minderVictim, runnerVictim, agentAndChild}
)

// now is the phase of a task's first attempt, from what is on the agent's disk, from what the runner wrote and from what the
// control plane says. "" is before the claim, and when the attempt is over and its device is clean.
func (r *ruin) now(t testing.TB, task string) string {
	t.Helper()
	open := r.entry(task)
	switch {
	case open == nil:
		return ""
	case r.exited(task):
		if r.task(t, task).FinishedAt != nil {
			return cleaning
		}
		return reporting
	case r.did(task, "asked"):
		return stopping
	case r.did(task, "start"):
		return running
	case open.Phase == "running":
		return starting
	}
	return claimed
}

// exited reports whether the runner of a task's first attempt was seen to end.
func (r *ruin) exited(task string) bool {
	for _, d := range r.deeds() {
		if d.what == "start" && d.task == task && d.attempt == "1" {
			_, ok := r.exitOf(d)
			return ok
		}
	}
	return false
}

// entry is what the agent's journal says of a task's first attempt.
func (r *ruin) entry(task string) *journal.Entry {
	for _, e := range r.journal() {
		if e.TaskID == task && e.Attempt == 1 {
			return &e
		}
	}
	return nil
}

// minderOf finds a minder that lives: the task's own, or else another's.
func (r *ruin) minderOf(task string) (pid int) {
	for _, e := range r.journal() {
		if e.MinderPID != 0 && alive(e.MinderPID) && (pid == 0 || e.TaskID == task) {
			pid = e.MinderPID
		}
	}
	return pid
}

// runnerOf finds the first process of a runner that lives: the task's own, or else another's.
func (r *ruin) runnerOf(task string) int {
	drives := 0
	for _, p := range r.processes() {
		if len(p.args) != 2 || p.args[1] != r.path("drive.sh") || !p.has("PWD="+filepath.Dir(p.variable("PHONEBOOTH_RESULT"))) {
			continue
		}
		parent, minder := parentOf(p.pid), false
		for _, m := range r.minders() {
			minder = minder || m.pid == parent
		}
		if minder && (drives == 0 || p.has("PHONEBOOTH_TASK_ID="+task)) {
			drives = p.pid
		}
	}
	return drives
}

// variable is a variable that a process was started with.
func (s seen) variable(name string) string {
	for _, entry := range s.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// parentOf is the parent of a process, 0 if it is gone.
func parentOf(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// strike kills a victim and brings back what does not come back by itself. It reports whether there was one.
func (r *ruin) strike(t testing.TB, k round, task string) bool {
	t.Helper()
	switch k.victim {
	case planeVictim:
		r.plane.kill()
		until(time.Now().Add(k.away))
		r.plane.restart(t)
	case adbVictim:
		r.rack.kill(t)
		r.rack.attach(t)
	case minderVictim:
		return killOne(t, func() int { return r.minderOf(task) })
	case runnerVictim:
		return killOne(t, func() int { return r.runnerOf(task) })
	case agentAndChild:
		minder := r.minderOf(task)
		r.host.kill()
		if minder != 0 {
			seen{pid: minder}.kill(t)
		}
		until(time.Now().Add(k.away))
		r.host.restart(t, r.plane)
	case agentVictim:
		r.host.kill()
		until(time.Now().Add(k.away))
		r.host.restart(t, r.plane)
	}
	return true
}

// killOne kills what find finds within a second.
func killOne(t testing.TB, find func() int) bool {
	t.Helper()
	for end := time.Now().Add(time.Second); time.Now().Before(end); <-time.After(time.Millisecond) {
		if pid := find(); pid != 0 {
			seen{pid: pid}.kill(t)
			return true
		}
	}
	return false
}
