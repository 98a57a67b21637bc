package sim_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
)

func TestContract(t *testing.T) {
	t.Parallel()
	bridgetest.Run(t, bridgetest.Harness{
		New:  func(*testing.T) bridge.Bridge { return sim.New(3, "rack:1") },
		Lose: func(_ *testing.T, b bridge.Bridge, key string) { b.(*sim.Bridge).Unplug(key) },
		Back: func(_ *testing.T, b bridge.Bridge, key string) { b.(*sim.Bridge).Plug(key) },
	})
}

func TestAScriptedConditionIsShown(t *testing.T) {
	t.Parallel()
	b := sim.New(2)
	w := bridgetest.Watch(t, b)
	b.SetCondition("sim-2", "unauthorized", "look at the screen")
	w.Until(t, "the condition", func(list []bridge.Device) bool {
		d := bridgetest.Find(list, "sim-2")
		return d != nil && d.Condition == "unauthorized" && d.Reason == "look at the screen"
	})
	if _, err := b.Open(t.Context(), "sim-2", bridge.Lease{}); err == nil {
		t.Error("a device that is not ready was opened, want ErrGone")
	}
	b.SetCondition("sim-2", phonebooth.Ready, "")
	b.FailClose("sim-2", 1)
	access, err := b.Open(t.Context(), "sim-2", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	if access.Close(t.Context()) == nil || access.Close(t.Context()) != nil {
		t.Error("want the first closing to fail and the second not")
	}
}

func TestOpenReadsItsSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings bridge.Settings
		ok       bool
	}{
		{nil, true},
		{bridge.Settings{"devices": "3"}, true},
		{bridge.Settings{"devices": "257"}, false},
		{bridge.Settings{"devices": "many"}, false},
		{bridge.Settings{"device": "3"}, false},
	} {
		if _, err := sim.Open(c.settings); (err == nil) != c.ok {
			t.Errorf("Open(%v) = %v, want ok = %v", c.settings, err, c.ok)
		}
	}
}
