//go:build linux

package main_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// beats is a host's configuration with the runner beat: it drives its phone again and again, and says so on the phone, until
// the file "over" is there. The way to its gate is written down for others to misuse.
const beats = `
runners:
  - name: beat
    drivers: [android]
    argv:
      - sh
      - -c
      - |
        echo "$ADB_SERVER_SOCKET" >"$HOME/way.$PHONEBOOTH_ATTEMPT"
        until test -e "$HOME/over"; do adb shell "echo beat $PHONEBOOTH_ATTEMPT" >/dev/null || exit 69; sleep 0.05; done
        echo over
    stop: {grace: 500ms, term_grace: 500ms}
`

// beating is a host whose agent starts an adb server, with a phone attached to it.
type beating struct {
	*host
	rack *rack
}

func (p *plane) beating(t testing.TB, name string) beating {
	t.Helper()
	h := beating{rack: p.rack(t, 1)}
	h.host = p.agent(t, name, 0, "--adb", "auto", "--config", p.write(t, "beats.yaml", beats))
	h.rack.attach(t)
	p.waitDevices(t, 1)
	return h
}

// beats lists what reached the host's phone of an attempt.
func (h beating) beats(attempt int) []simdevice.Command {
	return h.rack.began(0, fmt.Sprintf("beat %d", attempt))
}

// beat starts a task and waits until it drives the phone.
func (h beating) beat(t testing.TB, p *plane) string {
	t.Helper()
	id := p.submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DriverType: "android", Runner: "beat"}})
	p.waitRunning(t, id, 1)
	eventually(t, "a phone that is driven", func() bool { return len(h.beats(1)) > 0 })
	return id
}

// over lets the runners end.
func (p *plane) over(t testing.TB) {
	t.Helper()
	p.write(t, "over", "")
}

func TestC07_NothingReachesThePhoneOfAStoppedAgentAfterItsFence(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t, "--lease-ttl", chaosLease.String())
	first := p.beating(t, "h1")
	id := first.beat(t, p)
	second := p.beating(t, "h2")
	first.signal(t, syscall.SIGSTOP)
	stopped, began := boottime.Now(), time.Now()
	// Somebody whom no minder kills asks the gate meanwhile. It can answer only when its agent goes on.
	way := strings.TrimSpace(read(t, p.path("way.1")))
	answer := make(chan error, 1)
	go func() {
		_, err := first.rack.adb(t, []string{"ADB_SERVER_SOCKET=" + way}, "-s", first.rack.serials[0], "shell", "echo stranger")
		answer <- err
	}()
	dead := p.waitDead(t, id, 1)
	p.waitRunning(t, id, 2)
	eventually(t, "the other phone to be driven", func() bool { return len(second.beats(2)) > 0 })
	until(began.Add(2 * chaosLease))
	first.signal(t, syscall.SIGCONT)
	if err := <-answer; err == nil {
		t.Error("a command was let through the gate after the fence, want it refused")
	}
	eventually(t, "the late report", func() bool { return p.attempts(t, id)[0].LateReport != nil })
	a := p.attempts(t, id)[0]
	if a.Ending != "expired" || !dead.Before(*a.EndedAt) || a.LateReport.Outcome != "abandoned" || a.LateReport.Code != "fenced" {
		t.Errorf("attempt 1 is %+v with the late report %+v, want it expired after %v, and a give-back as fenced", a, a.LateReport, dead)
	}
	for _, c := range append(first.beats(1), first.rack.began(0, "stranger")...) {
		if c.At > stopped+100*time.Millisecond {
			t.Errorf("%q reached the phone %v after its agent was stopped", c.Line, c.At-stopped)
		}
	}
	p.over(t)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 2 || task.HostID != second.id {
		t.Errorf("done in attempt %d on %s, want 2 on the other host", task.Attempt, task.HostID)
	}
	p.waitDevices(t, 2)
}

func TestC06_AKilledAgentLeavesAPhoneAloneAndComesBack(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t)
	h := p.beating(t, "h1")
	server := h.rack.servers()
	id := h.beat(t, p)
	h.kill()
	p.waitDead(t, id, 1)
	if task := p.task(t, id); task.Status != "dispatched" || task.Attempt != 1 {
		t.Errorf("the task is %s in attempt %d while its agent is gone, want it dispatched in attempt 1", task.Status, task.Attempt)
	}
	driven := len(h.beats(1))
	h.restart(t, p)
	p.waitRunning(t, id, 2)
	eventually(t, "the phone to be driven again", func() bool { return len(h.beats(2)) > 0 })
	if n := len(h.beats(1)); n != driven {
		t.Errorf("attempt 1 drove the phone %d times more after its agent and its runner were dead", n-driven)
	}
	p.over(t)
	p.waitStatus(t, id, "done")
	if a := p.attempts(t, id)[0]; a.Ending != "abandoned" || a.Reason == nil || a.Reason.Code != "agent_restarted" {
		t.Errorf("attempt 1 ended as %q %+v, want it given back as agent_restarted", a.Ending, a.Reason)
	}
	if now := h.rack.servers(); len(server) != 1 || len(now) != 1 || now[0].pid != server[0].pid {
		t.Errorf("adb servers %v before and %v after, want the same one", server, now)
	}
	p.waitDevices(t, 1)
}

func TestC32_AKilledADBServerIsStartedAgainAndItsTaskGoesOn(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t)
	h := p.beating(t, "h1")
	id := h.beat(t, p)
	if !h.rack.kill(t) {
		t.Fatal("there was no adb server")
	}
	p.wait(t, id, "given back", func(v1.Task) bool { return p.attempts(t, id)[0].Ending != "" })
	h.rack.attach(t) // which waits for the agent to start one
	p.waitRunning(t, id, 2)
	eventually(t, "the phone to be driven again", func() bool { return len(h.beats(2)) > 0 })
	p.over(t)
	p.waitStatus(t, id, "done")
	if a := p.attempts(t, id)[0]; a.Ending != "abandoned" || a.Reason == nil || a.Reason.Code != "device_lost" {
		t.Errorf("attempt 1 ended as %q %+v, want it given back as device_lost", a.Ending, a.Reason)
	}
	if h.ended() {
		t.Errorf("the agent has ended with its adb server:\n%s", h.said())
	}
	p.waitDevices(t, 1)
}

func TestC32_TheLastAttemptUnderAKilledADBServerEndsAsDeviceLost(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t)
	h := p.beating(t, "h1")
	id := p.submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1, Constraints: v1.Constraints{DriverType: "android", Runner: "beat"}})
	eventually(t, "a phone that is driven", func() bool { return len(h.beats(1)) > 0 })
	if !h.rack.kill(t) {
		t.Fatal("there was no adb server")
	}
	if task := p.waitStatus(t, id, "failed"); task.Failure == nil || task.Failure.Code != "device_lost" || task.Attempt != 1 {
		t.Errorf("the task failed in attempt %d with %+v, want device_lost", task.Attempt, task.Failure)
	}
	h.rack.attach(t)
	p.waitDevices(t, 1)
	if h.ended() {
		t.Errorf("the agent has ended with its adb server:\n%s", h.said())
	}
}

func TestC36_AResultOfAPhoneIsDeliveredWhenTheControlPlaneIsBack(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t, "--lease-ttl", shortLease)
	h := p.beating(t, "h1")
	id := h.beat(t, p)
	p.kill()
	p.over(t)
	p.waitDead(t, id, 1)
	p.restart(t)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 1 {
		t.Errorf("done in attempt %d, want 1", task.Attempt)
	}
	eventually(t, "the log", func() bool { return p.booth.run(t, "task", "log", id) == "over\n" })
	if _, err := os.Stat(p.path("way.2")); err == nil {
		t.Error("it was run twice")
	}
	p.waitDevices(t, 1)
}
