package adb

import (
	"slices"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

func TestC28_EachOfTwoPhonesWithOneSerialHasItsOwnTarget(t *testing.T) {
	t.Parallel()
	properties := map[string]string{"ro.serialno": "0123456789ABCDEF", "sys.boot_completed": "1", "ro.product.model": "Clone"}
	listed := []wire.Device{
		{TransportID: 1, Serial: "0123456789ABCDEF", State: wire.StateDevice, USBPath: "usb:1-1"},
		{TransportID: 2, Serial: "0123456789ABCDEF", State: wire.StateDevice, USBPath: "usb:1-2"},
		{TransportID: 3, Serial: "other", State: wire.StateDevice, USBPath: "usb:1-3"},
	}
	var seen []wire.Sighting
	for _, d := range listed {
		s := wire.Sighting{Device: d, Properties: properties}
		if d.Serial == "other" {
			s.Properties = map[string]string{"ro.serialno": "other", "sys.boot_completed": "1"}
		}
		seen = append(seen, s)
	}
	var keys, targets []string
	for _, id := range wire.Identify(seen, nil) {
		p := phone{Identity: id, properties: properties}
		if !p.ready() {
			t.Errorf("%s is not ready: %+v", id.Key, id)
		}
		keys = append(keys, id.Key)
		targets = append(targets, p.device(listed).Name)
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != 3 {
		t.Errorf("keys = %q, want three devices", keys)
	}
	slices.Sort(targets)
	if want := []string{"other", "usb:1-1", "usb:1-2"}; !slices.Equal(targets, want) {
		t.Errorf("targets = %q, want %q", targets, want)
	}
}

func TestC31_OnlyADeviceThatTakesCommandsAndIsToldApartIsReady(t *testing.T) {
	t.Parallel()
	booted := map[string]string{"sys.boot_completed": "1"}
	for _, c := range []struct {
		state      wire.State
		ambiguous  bool
		properties map[string]string
		want       phonebooth.Condition
		why        string
	}{
		{wire.StateDevice, false, booted, phonebooth.Ready, ""},
		{wire.StateDevice, false, nil, "connecting", "it has not said yet what it is"},
		{wire.StateDevice, false, map[string]string{"ro.serialno": "x"}, "booting", "it has not finished booting"},
		{wire.StateDevice, true, booted, phonebooth.Ambiguous, "may be another"},
		{wire.StateUnauthorized, false, booted, "unauthorized", ""},
		{wire.StateOffline, true, booted, "offline", ""},
		{"recovery", false, booted, "recovery", ""},
		{"a state of tomorrow", false, booted, "a state of tomorrow", ""},
		{"no permissions (udev?); see [http://a.example]", false, nil, "no permissions", "no permissions (udev?); see [http://a.example]"},
	} {
		p := phone{
			Identity:   wire.Identity{Key: "k", Transports: []wire.Device{{TransportID: 1, Serial: "k", State: c.state}}, Ambiguous: c.ambiguous, Why: "may be another"},
			properties: c.properties,
		}
		if got, why := p.condition(); got != c.want || why != c.why {
			t.Errorf("%s: %q %q, want %q %q", c.state, got, why, c.want, c.why)
		}
	}
}
