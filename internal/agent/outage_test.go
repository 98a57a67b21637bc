package agent_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
)

func TestC01_ALostLeaseIsKilledAndItsDeviceComesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	pids := t.TempDir()
	a := h.shell("sim-1", "trap '' INT TERM; echo $$ > "+pids+"/runner; while :; do sleep 1; done")
	runner := pidIn(t, pids+"/runner")
	h.do(func() { a.lost, h.confirm = "expired", map[string]int64{"sim:sim-1": 7} })
	check(t, h.ended(t, a), "abandoned", "fenced")
	dead(t, runner)
	h.until(t, "a sighting that repeats the number", func() bool { return len(h.confirm) == 0 })
	h.condition(t, "sim-1", phonebooth.Ready)
}

func TestC09_AShortOutageCostsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.goal("sim-1", "print up; sleep 2.5; print over")
	h.logged(t, a, "up")
	h.do(func() { h.down = true })
	<-time.After(h.policy.TTL / 3) // what 10 s are to a lease of 30 s
	h.do(func() { h.down = false })
	check(t, h.ended(t, a), "done", "")
	h.logged(t, a, "over")
}

func TestC09_AShortOutageCostsNothingInAnyPhase(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T, *house) *held{
		"before the claim": func(_ *testing.T, h *house) *held {
			h.do(func() { h.down = true })
			return h.goal("sim-1", "sleep 1.5")
		},
		"before the claim's answer": func(t *testing.T, h *house) *held {
			h.do(func() { h.loseAnswers = 1 })
			a := h.goal("sim-1", "sleep 1.5")
			h.until(t, "a claim", func() bool { h.down = a.claimed; return a.claimed })
			return a
		},
		"before the end": func(t *testing.T, h *house) *held {
			a := h.goal("sim-1", "print up; sleep 0.3")
			h.logged(t, a, "up")
			h.do(func() { h.down = true })
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, 1, agent.Options{})
			a := begin(t, h)
			<-time.After(h.policy.TTL / 3)
			h.do(func() { h.down = false })
			check(t, h.ended(t, a), "done", "")
			h.do(func() {
				if a.late != nil {
					t.Error("the report came too late")
				}
			})
		})
	}
}

func TestC09_ALongOutageFencesTheRunner(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	pids := t.TempDir()
	a := h.shell("sim-1", "trap '' INT TERM; echo $$ > "+pids+"/runner; while :; do sleep 1; done")
	runner := pidIn(t, pids+"/runner")
	h.do(func() { h.down = true })
	dead(t, runner)
	h.do(func() {
		if time.Now().After(a.expires) {
			t.Error("the runner lived longer than its lease")
		}
		h.down = false
	})
	check(t, h.ended(t, a), "abandoned", "fenced")
}

func TestC36_AResultIsDeliveredWhenTheControlPlaneIsBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.shell("sim-1", "echo up; read x < "+fifo(t)+"; echo over")
	h.logged(t, a, "up")
	h.do(func() { h.down = true })
	h.release(t, a)
	eventually(t, "the end of the attempt", func() bool { return strings.Contains(h.logs.String(), "attempt ended") })
	h.do(func() { h.down = false })
	check(t, h.ended(t, a), "done", "")
	h.logged(t, a, "over")
}

func TestC36_AResultOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.shell("sim-1", "echo up; read x < "+fifo(t)+"; exit 3")
	h.logged(t, a, "up")
	h.do(func() { h.down = true })
	h.release(t, a)
	eventually(t, "the end of the attempt", func() bool { return strings.Contains(h.logs.String(), "attempt ended") })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	h.do(func() { h.down, a.expires = false, time.Now().Add(time.Minute) })
	h.start(t, agent.Options{})
	check(t, h.ended(t, a), "failed", "runner_failed")
}

func TestAReportThatIsRefusedForItsResultGoesWithoutIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.do(func() {
		h.refuse = func(r v1.ReportRequest) error {
			if r.Result != nil {
				return phonebooth.Errorf(phonebooth.TooLarge, "too_large", "the body is too large")
			}
			return nil
		}
	})
	r := h.ended(t, h.goal("sim-1", "open Settings")) // which leaves a result
	if check(t, r, "done", ""); !strings.Contains(r.Message, "the body is too large") {
		t.Errorf("message = %q, want it to say why there is no result", r.Message)
	}
	h.condition(t, "sim-1", phonebooth.Ready)
}

func TestAReportThatNoControlPlaneWantsIsNotRepeatedForEver(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"lease_unknown", "not_claimed"} { // as after a restored backup
		refused := false
		h := newHouse(t, 1, agent.Options{})
		h.do(func() {
			h.refuse = func(v1.ReportRequest) error {
				h.inventory.Devices[0].Condition, refused = "unconfirmed", true
				return phonebooth.Errorf(phonebooth.Conflict, code, "refused")
			}
		})
		a := h.goal("sim-1", "print x")
		h.until(t, "that the host lets go of the device", func() bool { return refused && h.conditionOf("sim-1") == phonebooth.Ready })
		h.do(func() { h.refuse, a.lost = nil, "ended" })
		check(t, h.ended(t, h.goal("sim-1", "print y")), "done", "")
	}
}

func TestAClaimWhoseAnswerWasLostIsGotAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.do(func() { h.loseAnswers = 1 })
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
}

func TestWorkWhoseClaimWasNotAnsweredBeforeAStopIsGivenBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.do(func() { h.loseAnswers = 1 })
	a := h.goal("sim-1", "hang")
	h.until(t, "the claim", func() bool { return a.claimed })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	h.do(func() {
		if a.report == nil || a.report.Code != "agent_stopping" {
			t.Errorf("report = %+v, want the work given back before the stop is over", a.report)
		}
	})
}

func TestALargerClaimTakesThePlaceOfASmallerOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3, agent.Options{})
	a, b, c := h.goal("sim-1", "sleep 0.5"), h.goal("sim-2", "sleep 0.5"), h.goal("sim-3", "sleep 0.5")
	for _, one := range []*held{a, b, c} {
		check(t, h.ended(t, one), "done", "")
	}
	h.until(t, "a claim for all three", func() bool { return h.claimMax[len(h.claimMax)-1] == 3 })
}

func TestWithoutRoomOnTheDiskNoWorkIsAskedFor(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	h := &house{room: func(bool) error {
		if full.Load() {
			return diskmap.ErrFull
		}
		return nil
	}}
	h.open(t, 1, agent.Options{})
	full.Store(true)
	h.condition(t, "sim-1", phonebooth.Unhealthy)
	h.until(t, "a claim for nothing", func() bool { return h.claimMax[len(h.claimMax)-1] == 0 })
	full.Store(false)
	h.condition(t, "sim-1", phonebooth.Ready)
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
}

func TestALogIsSentWholeWhateverGetsLostOnTheWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.shell("sim-1", "i=0; while [ $i -lt 60000 ]; do echo line $i of a long log; i=$((i+1)); done")
	h.logged(t, a, "line 1000 ")
	h.do(func() { a.log = a.log[:len(a.log)/2] }) // the receiver forgets: the next bytes leave a gap
	check(t, h.ended(t, a), "done", "")
	var want bytes.Buffer
	for i := range 60000 {
		fmt.Fprintf(&want, "line %d of a long log\n", i)
	}
	h.until(t, "the whole log", func() bool { return bytes.Equal(a.log, want.Bytes()) })
}

func TestAnInventoryNeverSaysReadyWhileALeaseIsOnTheDevice(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.shell("sim-1", "echo up; read x < "+fifo(t))
	h.logged(t, a, "up")
	h.condition(t, "sim-1", phonebooth.Leased) // with the next heartbeat
	h.bridge.SetCondition("sim-1", "offline", "unplugged?")
	h.condition(t, "sim-1", phonebooth.Offline)
	h.bridge.SetCondition("sim-1", phonebooth.Ready, "")
	h.condition(t, "sim-1", phonebooth.Leased)
	h.release(t, a)
	h.condition(t, "sim-1", phonebooth.Ready)
	h.do(func() {
		d := h.inventory.Devices[0]
		if want := "fake"; len(d.Runners) == 0 || d.Runners[0] != want || d.Fence != "process" || d.DriverType != "sim" {
			t.Errorf("sighting = %+v, want the default runner, %s, first", d, want)
		}
	})
}
