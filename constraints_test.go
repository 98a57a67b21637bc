package phonebooth_test

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

func phone() phonebooth.Device {
	return phonebooth.Device{
		ID: "device_1", HostID: "host_a", Key: "usb:1", DriverType: "android", Tags: []string{"5g", "pixel"},
		Runners: []string{"adb-shell", "maestro"}, Condition: phonebooth.Ready, Hold: phonebooth.NoHold,
	}
}

func TestS2_1_Match(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		c    phonebooth.Constraints
		want phonebooth.Mismatch
	}{
		{"asks nothing", phonebooth.Constraints{}, phonebooth.Matches},
		{"everything", phonebooth.Constraints{DriverType: "android", Tags: []string{"5g", "pixel"}, Runner: "maestro", DeviceID: "device_1", HostID: "host_a"}, phonebooth.Matches},
		{"one of its tags", phonebooth.Constraints{Tags: []string{"pixel"}}, phonebooth.Matches},
		{"another driver type", phonebooth.Constraints{DriverType: "ios"}, phonebooth.MismatchDriverType},
		{"driver types are compared as they are", phonebooth.Constraints{DriverType: "Android"}, phonebooth.MismatchDriverType},
		{"another device", phonebooth.Constraints{DeviceID: "device_2"}, phonebooth.MismatchDeviceID},
		{"another host", phonebooth.Constraints{HostID: "host_b"}, phonebooth.MismatchHostID},
		{"a runner that it does not offer", phonebooth.Constraints{Runner: "appium"}, phonebooth.MismatchRunner},
		{"one tag too many", phonebooth.Constraints{Tags: []string{"5g", "foldable"}}, phonebooth.MismatchTags},
		{"part of a tag is no tag", phonebooth.Constraints{Tags: []string{"pix"}}, phonebooth.MismatchTags},
		{"an empty tag is a tag", phonebooth.Constraints{Tags: []string{""}}, phonebooth.MismatchTags},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.c.Match(phone()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestC15_UnknownTagNamesItsClause(t *testing.T) {
	t.Parallel()
	c := phonebooth.Constraints{DriverType: "android", Tags: []string{"nobody-has-it"}}
	if got := c.Match(phone()); got != phonebooth.MismatchTags {
		t.Errorf("got %q, want %q", got, phonebooth.MismatchTags)
	}
}

func TestC19_PayloadNeverInfluencesMatching(t *testing.T) {
	t.Parallel()
	s := phonebooth.TaskSpec{
		Goal:   `{"driver_type":"ios","tags":["foldable"],"device_id":"device_2"}`,
		Inputs: []byte(`{"driver_type":"ios","constraints":{"tags":["foldable"]}}`),
		Labels: map[string]string{"driver_type": "ios", "host_id": "host_b", "tags": "foldable"},
	}.WithDefaults()
	if got := s.Constraints.Match(phone()); got != phonebooth.Matches {
		t.Errorf("got %q, want a match", got)
	}
	if got, want := s.Constraints.Key(), (phonebooth.Constraints{}).Key(); got != want {
		t.Errorf("got key %q, want that of no constraints", got)
	}
}

func TestKeyTellsConstraintsApart(t *testing.T) {
	t.Parallel()
	same := []phonebooth.Constraints{{Tags: []string{"a", "b"}}, {Tags: []string{"b", "a", "b"}}}
	if a, b := same[0].Normalized().Key(), same[1].Normalized().Key(); a != b {
		t.Errorf("got %q and %q, want one key for the same tags", a, b)
	}
	seen := map[string]phonebooth.Constraints{}
	for _, c := range []phonebooth.Constraints{
		{},
		{DriverType: "a"},
		{Runner: "a"},
		{DeviceID: "a"},
		{HostID: "a"},
		{Tags: []string{"a"}},
		{Tags: []string{"a", "b"}},
		{Tags: []string{"ab"}},
		{DriverType: "a", Runner: "b"},
		{DriverType: "b", Runner: "a"},
	} {
		key := c.Normalized().Key()
		if other, ok := seen[key]; ok {
			t.Errorf("%+v and %+v have one key", c, other)
		}
		seen[key] = c
	}
}

func TestNormalizedLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	tags := []string{"b", "a"}
	_ = phonebooth.Constraints{Tags: tags}.Normalized()
	if tags[0] != "b" {
		t.Errorf("got %v: the caller's tags were sorted", tags)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	reserved := &phonebooth.Reservation{DeviceID: "device_1"}
	for _, tt := range []struct {
		name   string
		host   phonebooth.Host
		r      *phonebooth.Reservation
		change func(*phonebooth.Device)
		want   phonebooth.Reason
	}{
		{"idle", phonebooth.Host{}, nil, nil, phonebooth.Available},
		{"reserved, still reported ready", phonebooth.Host{}, reserved, nil, phonebooth.ReasonReserved},
		{"host removed", phonebooth.Host{RemovedAt: now}, nil, nil, phonebooth.ReasonRemoved},
		{"host draining", phonebooth.Host{DrainingSince: now}, nil, nil, phonebooth.ReasonDraining},
		{"host silent", phonebooth.Host{SilentSince: now}, nil, nil, phonebooth.ReasonSilent},
		{"host deaf", phonebooth.Host{DeafSince: now}, nil, nil, phonebooth.ReasonDeaf},
		{"cordoned", phonebooth.Host{}, nil, func(d *phonebooth.Device) { d.Hold = phonebooth.Cordoned }, phonebooth.ReasonCordon},
		{"quarantined", phonebooth.Host{}, nil, func(d *phonebooth.Device) { d.Hold = phonebooth.Quarantined }, phonebooth.ReasonQuarantine},
		{"no condition yet", phonebooth.Host{}, nil, func(d *phonebooth.Device) { d.Condition = "" }, "condition:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := phone()
			if tt.change != nil {
				tt.change(&d)
			}
			if got := d.Available(tt.host, tt.r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// C31, what the matcher has to say: any condition but ready is shown as it is, and is no candidate.
func TestOnlyReadyIsACandidate(t *testing.T) {
	t.Parallel()
	for _, condition := range []phonebooth.Condition{
		phonebooth.Leased, phonebooth.Cleaning, phonebooth.Unhealthy, phonebooth.Offline, phonebooth.Ambiguous, phonebooth.Unconfirmed,
		"unauthorized", "recovery", "no permissions (missing udev rules?)", "something new", "Ready",
	} {
		d := phone()
		d.Condition = condition
		if got, want := d.Available(phonebooth.Host{}, nil), phonebooth.Reason("condition:"+string(condition)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
