package phonebooth

import (
	"slices"
	"strings"
)

// Constraints say what a device must be. An empty field asks nothing.
type Constraints struct {
	DriverType string
	Tags       []string // all required; sorted and without repeats after [Constraints.Normalized]
	Runner     string   // the device's host must offer it for the driver type
	DeviceID   DeviceID
	HostID     HostID
}

// Normalized returns c with sorted tags and no repeats: equal constraints then have equal keys.
func (c Constraints) Normalized() Constraints {
	c.Tags = slices.Clone(c.Tags)
	slices.Sort(c.Tags)
	c.Tags = slices.Compact(c.Tags)
	if len(c.Tags) == 0 {
		c.Tags = nil
	}
	return c
}

// Key tells different normalized constraints apart: tasks with one key wait in one lane.
func (c Constraints) Key() string {
	return strings.Join(append([]string{c.DriverType, c.Runner, string(c.DeviceID), string(c.HostID)}, c.Tags...), "\x00")
}

// Mismatch names the clause of the constraints that a device does not meet; "" means that it meets them all.
type Mismatch string

// The clauses, in the order in which they are looked at.
const (
	Matches            Mismatch = ""
	MismatchDriverType Mismatch = "driver_type"
	MismatchDeviceID   Mismatch = "device_id"
	MismatchHostID     Mismatch = "host_id"
	MismatchRunner     Mismatch = "runner"
	MismatchTags       Mismatch = "tags"
)

// Match compares c with what d is, not with what it does at the moment: see [Device.Available]. It looks at nothing but
// the constraints and the device, so a task's goal, labels or inputs never influence it (S2.1, C19).
func (c Constraints) Match(d Device) Mismatch {
	switch {
	case c.DriverType != "" && c.DriverType != d.DriverType:
		return MismatchDriverType
	case c.DeviceID != "" && c.DeviceID != d.ID:
		return MismatchDeviceID
	case c.HostID != "" && c.HostID != d.HostID:
		return MismatchHostID
	case c.Runner != "" && !slices.Contains(d.Runners, c.Runner):
		return MismatchRunner
	}
	for _, tag := range c.Tags {
		if !slices.Contains(d.Tags, tag) {
			return MismatchTags
		}
	}
	return Matches
}
