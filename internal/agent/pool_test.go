package agent

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func onePhone() *pool {
	p := newPool()
	p.see("sim", []bridge.Device{{Key: "1", Name: "1", DriverType: "sim", Condition: phonebooth.Ready}})
	return p
}

func (p *pool) said(t *testing.T) string {
	t.Helper()
	r := p.inventory(1, &runner.Registry{})
	if len(r.Devices) != 1 {
		t.Fatalf("inventory = %+v, want one device", r)
	}
	return r.Devices[0].Condition
}

func TestADeviceIsReadyOnlyWhenNothingOfAnyLeaseIsLeftOnIt(t *testing.T) {
	t.Parallel()
	p := onePhone()
	if _, ok := p.take("sim:1", "a"); !ok || p.said(t) != "leased" {
		t.Fatal("want the lease's hands on the device")
	}
	p.handle("sim:1", func(h *lifecycle.Hands) { h.Process, h.Gate = true, true })
	if _, condition, _ := p.word("sim:1", "a"); condition != phonebooth.Cleaning {
		t.Errorf("the report says %s while a process is left, want cleaning", condition)
	}
	if _, ok := p.take("sim:1", "b"); ok {
		t.Error("a second lease got the device while a process of the first is left")
	}
	p.release("sim:1", "a", true)
	if got := p.said(t); got != "cleaning" {
		t.Errorf("after the report: %s, want cleaning", got)
	}
	p.handle("sim:1", cleared)
	p.setTrouble("sim:1", "stuck")
	if _, ok := p.take("sim:1", "b"); ok || p.said(t) != "unhealthy" {
		t.Error("a device in trouble was taken, or not called unhealthy")
	}
	p.setTrouble("sim:1", "")
	if got := p.said(t); got != "ready" {
		t.Errorf("after cleaning: %s, want ready", got)
	}
}

func TestTheNextLeaseMayBeFasterThanTheAnswerToTheLastReport(t *testing.T) {
	t.Parallel()
	p := onePhone()
	p.take("sim:1", "a")
	if _, ok := p.take("sim:1", "b"); ok {
		t.Error("the device was taken twice before any report")
	}
	if _, condition, _ := p.word("sim:1", "a"); condition != phonebooth.Ready {
		t.Errorf("the report of a clean device says %s, want ready", condition)
	}
	if _, ok := p.take("sim:1", "b"); !ok {
		t.Error("the next lease was refused though the report had said ready")
	}
	// The report's answer was lost; it is repeated while b drives.
	if _, condition, _ := p.word("sim:1", "a"); condition != phonebooth.Leased {
		t.Errorf("the repeated report says %s, want leased", condition)
	}
	p.release("sim:1", "a", true)
	if _, ok := p.take("sim:1", "c"); ok || p.said(t) != "leased" {
		t.Error("the end of a took b's hands off the device")
	}
}

func TestWhatIsSaidOfDevicesIsNumberedInItsOrder(t *testing.T) {
	t.Parallel()
	p := onePhone()
	first := p.inventory(1, &runner.Registry{})
	p.take("sim:1", "a")
	seq, _, _ := p.word("sim:1", "a")
	second := p.inventory(1, &runner.Registry{})
	if first.Seq >= seq || seq >= second.Seq {
		t.Errorf("numbers = %d, %d, %d, want them to grow", first.Seq, seq, second.Seq)
	}
}

func TestADeviceThatLeavesUnderALeaseKeepsItsSlot(t *testing.T) {
	t.Parallel()
	p := onePhone()
	p.take("sim:1", "a")
	p.see("sim", []bridge.Device{{Key: "2", Name: "2", DriverType: "sim", Condition: phonebooth.Ready}})
	if other, _ := p.take("sim:2", "b"); other.slot != 1 {
		t.Errorf("slot = %d, want 1: the first one's ports are still in use", other.slot)
	}
	p.release("sim:1", "a", true)
	p.see("sim", []bridge.Device{{Key: "2", Condition: phonebooth.Ready}, {Key: "3", Condition: phonebooth.Ready}})
	if third, _ := p.take("sim:3", "c"); third.slot != 0 {
		t.Errorf("slot = %d, want 0, which is free again", third.slot)
	}
}
