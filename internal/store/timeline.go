package store

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// TimelineQuery asks what happened on devices, and to them and their hosts, from From until before To.
type TimelineQuery struct {
	Devices  []phonebooth.DeviceID
	Hosts    []phonebooth.HostID // of the devices
	From, To time.Time
	// Fold is the width of what can still be told apart: attempts of a device that begin within one Fold and ended alike
	// come as one bar, and of the changes within one Fold come the last, and the last that took the device out. At least a
	// microsecond.
	Fold time.Duration
}

// Timeline is the answer. Nothing is left out: what is not told by itself is counted.
type Timeline struct {
	Bars []Bar // by device, then begin
	// Before are the changes that say what was so at From: of each device and host the newest of each pair of kinds.
	Before []phonebooth.Event
	// Within are the changes in the span, the oldest first.
	Within []Change
}

// Bar is one attempt, or several that ended alike and are too close to be told apart.
type Bar struct {
	DeviceID phonebooth.DeviceID
	Begin    time.Time // the first one's assignment
	End      time.Time // the last one's; zero while it is live
	Ending   phonebooth.Ending
	Count    int
	Key      phonebooth.AttemptKey // of one of them
	Started  time.Time             // when it was claimed; zero: never
	Code     string                // of its ending
	Goal     string                // of its task, at most 200 characters
	Workflow string                // of its task
}

// Change is an event that stands for Count events of its device or host.
type Change struct {
	phonebooth.Event
	Count int
}
