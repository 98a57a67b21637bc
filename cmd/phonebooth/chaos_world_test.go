//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
)

// chaosLease is the lease of the kill rounds: short, so that one that runs out is not waited for long.
const chaosLease = 4 * time.Second

// ruin is a world in which things are killed: a control plane, one agent with two phones and a simulated device, and what is
// written down by others than these of what they did.
type ruin struct {
	*plane
	host *host
	rack *rack

	mu    sync.Mutex
	exits map[string]minder.Exit // by directory of a step: how the programs ended, as their minders wrote it
}

// drive is the runner of the kill rounds. It takes an exclusive lock on its device for as long as it or anything that it
// started lives: who finds the lock taken is a second driver. It leaves a daemon that holds the lock and its output. When it is
// asked to stop it takes its time. The goal is how many times it drives the phone.
const drive = `
log="$HOME/witness/$PHONEBOOTH_DEVICE_ID.log" me="$PHONEBOOTH_TASK_ID $PHONEBOOTH_ATTEMPT"
exec 9>>"$HOME/witness/$PHONEBOOTH_DEVICE_ID.lock"
flock -n 9 || { echo "overlap $me" >>"$log"; exit 1; }
echo "start $me $PWD" >>"$log"
trap 'echo "asked $me" >>"$log"; sleep 0.5; exit 1' INT TERM
(trap "" INT TERM HUP; setsid sleep 4000 &)
n=0
while test $n -lt "$PHONEBOOTH_GOAL"; do
  test -z "$ANDROID_SERIAL" || adb shell "echo $me" >/dev/null 2>&1 || { echo "lost $me" >>"$log"; exit 69; }
  sleep 0.1
  n=$((n + 1))
done
printf '{"outcome":"done","result":"%s"}' "$me" >"$PHONEBOOTH_RESULT"
echo "stop $me" >>"$log"
`

// newRuin makes such a world with all devices ready.
func newRuin(t testing.TB, flags ...string) *ruin {
	t.Helper()
	b := newBooth(t)
	rack := b.rack(t, 2)
	if err := os.MkdirAll(b.path("witness"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(t, "drive.sh", drive)
	config := b.write(t, "chaos.yaml", "runners: [{name: drive, argv: [sh, "+b.path("drive.sh")+"], stop: {signal: INT, grace: 1s, term_grace: 200ms}}]")
	r := &ruin{plane: b.server(t, append(flags, "--lease-ttl", chaosLease.String())...), rack: rack, exits: map[string]minder.Exit{}}
	r.host = r.plane.agent(t, "h1", 1, "--adb", "auto", "--config", config)
	rack.attach(t)
	r.waitDevices(t, 3)
	return r
}

// deed is one line that a runner wrote: what it did, in which attempt.
type deed struct {
	what, task, attempt string
	dir                 string // of the step, at a start
}

// deeds is all that the runners wrote since forget.
func (r *ruin) deeds() (all []deed) {
	names, _ := filepath.Glob(r.path("witness/*.log"))
	for _, name := range names {
		text, _ := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 3 || !strings.HasSuffix(line, "\n") {
				continue // it is being written
			}
			d := deed{what: f[0], task: f[1], attempt: f[2]}
			if len(f) == 4 {
				d.dir = filepath.Dir(f[3])
			}
			all = append(all, d)
		}
	}
	return all
}

// did reports whether a task's runner wrote a word in its first attempt.
func (r *ruin) did(task, what string) bool {
	for _, d := range r.deeds() {
		if d.task == task && d.attempt == "1" && d.what == what {
			return true
		}
	}
	return false
}

// keepExits copies the exit files of all runners before the agent removes them, until stop is closed.
func (r *ruin) keepExits(stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, d := range r.deeds() {
			r.mu.Lock()
			_, known := r.exits[d.dir]
			r.mu.Unlock()
			if d.what != "start" || known {
				continue
			}
			if exit, err := minder.ReadExit(filepath.Join(d.dir, "exit.json")); err == nil {
				r.mu.Lock()
				r.exits[d.dir] = exit
				r.mu.Unlock()
			}
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// exitOf is how an attempt's program ended, if its minder was seen to write that down.
func (r *ruin) exitOf(start deed) (exit minder.Exit, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	exit, ok = r.exits[start.dir]
	return exit, ok
}

// forget begins a new page for the runners. Nothing may run.
func (r *ruin) forget(t testing.TB) {
	t.Helper()
	names, _ := filepath.Glob(r.path("witness/*.log"))
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// journal is what the agent has written down of its leases at this moment.
func (r *ruin) journal() (open []journal.Entry) {
	names, _ := filepath.Glob(filepath.Join(r.host.data, "journal", "*.json"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		var e journal.Entry
		if err == nil && json.Unmarshal(text, &e) == nil {
			open = append(open, e)
		}
	}
	return open
}

// work is a task that drives its device n times.
func work(goal, device string) v1.TaskRequest {
	return v1.TaskRequest{Goal: goal, Constraints: v1.Constraints{Runner: "drive", DeviceID: device}}
}
