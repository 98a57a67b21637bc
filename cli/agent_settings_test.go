package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/builtin"
)

func TestABridgeOfTheConfigurationStaysAsItStandsThere(t *testing.T) {
	t.Parallel()
	known, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	own := bridge.Settings{"server": "127.0.0.1:25037", "start": "no"}
	for name, c := range map[string]struct {
		in     hostSettings
		want   map[string]bridge.Settings
		refuse string
	}{
		"nothing said":          {in: defaultHost(), want: map[string]bridge.Settings{"adb": {}}},
		"adb by the file":       {in: hostSettings{ADB: adbAuto, Bridges: map[string]bridge.Settings{"adb": own}}, want: map[string]bridge.Settings{"adb": own}},
		"the same, and adb off": {in: hostSettings{ADB: adbOff, Bridges: map[string]bridge.Settings{"adb": own}}, want: map[string]bridge.Settings{"adb": own}},
		"adb by both":           {in: hostSettings{ADB: "127.0.0.1:1", Bridges: map[string]bridge.Settings{"adb": own}}, refuse: "bridges.adb in the configuration, and adb: 127.0.0.1:1"},
		"sim by both":           {in: hostSettings{ADB: adbOff, Sim: 2, Bridges: map[string]bridge.Settings{"sim": {"devices": "3"}}}, refuse: "bridges.sim in the configuration, and sim: 2"},
		"sim by the file": {
			in:   hostSettings{ADB: adbOff, Bridges: map[string]bridge.Settings{"sim": {"devices": "3"}}},
			want: map[string]bridge.Settings{"sim": {"devices": "3"}},
		},
		"one each": {
			in:   hostSettings{ADB: adbAuto, Sim: 2, Bridges: map[string]bridge.Settings{"adb": own}},
			want: map[string]bridge.Settings{"adb": own, "sim": {"devices": "2"}},
		},
	} {
		got, err := c.in.asked(known)
		if c.refuse != "" {
			if err == nil || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("%s: %v, want a refusal that says %q", name, err, c.refuse)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}
