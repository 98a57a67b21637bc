package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

// listing is a bridge that has one list.
type listing struct {
	bridge.Bridge
	devices []bridge.Device
}

var errEnded = errors.New("ended")

func (l listing) Watch(_ context.Context, changed func([]bridge.Device)) error {
	changed(l.devices)
	return errEnded
}

func TestAnOperatorKnowsSingleDevicesBetter(t *testing.T) {
	t.Parallel()
	s := deviceSettings{
		"adb:A":      {Tags: []string{"5g"}},
		"0123":       {WithoutTags: []string{"emulator"}},
		"usb:1-2":    {Off: true},
		"not there":  {Off: true},
		"another:B":  {Off: true},
		"R3 (chart)": {Tags: []string{"x"}, WithoutTags: []string{"x"}},
	}
	b := s.around("adb", listing{devices: []bridge.Device{
		{Key: "A", Name: "A", Tags: []string{"android"}, Condition: phonebooth.Ready},
		{Key: "B", Name: "usb:1-2", Tags: []string{"android", "emulator"}, Condition: phonebooth.Ready, Attributes: map[string]string{"serial": "0123"}},
		{Key: "R3 (chart)", Name: "R3 (chart)", Condition: "offline"},
	}})
	var got []bridge.Device
	if err := b.Watch(t.Context(), func(list []bridge.Device) { got = list }); !errors.Is(err, errEnded) {
		t.Fatal(err)
	}
	want := []bridge.Device{
		{Key: "A", Name: "A", Tags: []string{"android", "5g"}, Condition: phonebooth.Ready},
		{
			Key: "B", Name: "usb:1-2", Tags: []string{"android"}, Condition: "off", Reason: "switched off in its host's configuration",
			Attributes: map[string]string{"serial": "0123"},
		},
		{Key: "R3 (chart)", Name: "R3 (chart)", Tags: []string{}, Condition: "offline"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"another:B", "not there"}, s.unseen(map[string]bridge.Bridge{"adb": b})); diff != "" {
		t.Errorf("not seen: -want +got\n%s", diff)
	}
	if _, wrapped := deviceSettings(nil).around("adb", listing{}).(*corrected); wrapped {
		t.Error("a bridge was wrapped for nothing")
	}
	for name, bad := range map[string]deviceSettings{"no name": {"": {}}, "an empty tag": {"A": {Tags: []string{""}}}} {
		if err := bad.check(); err == nil {
			t.Errorf("%s: no error, want one", name)
		}
	}
}

func TestCleanupHooksAreChecked(t *testing.T) {
	t.Parallel()
	type one = struct {
		Name    string        `yaml:"name"`
		Argv    []string      `yaml:"argv"`
		Drivers []string      `yaml:"drivers"`
		Timeout time.Duration `yaml:"timeout"`
	}
	got, err := cleanupSettings{{Name: "wipe", Argv: []string{"wipe", "{serial}"}, Drivers: []string{"android"}, Timeout: time.Second}}.hooks()
	want := []agent.Hook{{Name: "wipe", Argv: []string{"wipe", "{serial}"}, Drivers: []string{"android"}, Timeout: time.Second}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	for name, bad := range map[string]cleanupSettings{
		"no name": {one{Argv: []string{"x"}}}, "no program": {one{Name: "x"}}, "a time that is none": {one{Name: "x", Argv: []string{"x"}, Timeout: -1}},
		"twice": {one{Name: "x", Argv: []string{"x"}}, one{Name: "x", Argv: []string{"y"}}}, "a driver type that is none": {one{Name: "x", Argv: []string{"x"}, Drivers: []string{"a b"}}},
	} {
		if _, err := bad.hooks(); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("%s: %v, want it to be refused", name, err)
		}
	}
}
