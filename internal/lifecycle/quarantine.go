package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// maxTrail is how many attempts of a streak are kept as evidence.
const maxTrail = 8

// countStreak counts an ending towards quarantine (C34): quick failures of the infrastructure in a row. What a task did by itself
// ends the row; a cancellation says nothing.
func countStreak(d *phonebooth.Device, a phonebooth.Attempt, report phonebooth.Report, quick bool) {
	switch {
	case report.Outcome == phonebooth.OutcomeAbandoned && infrastructure[report.Failure.Code] && quick:
		d.Streak++
		d.Trail = append(d.Trail[max(0, len(d.Trail)-maxTrail+1):len(d.Trail):len(d.Trail)],
			fmt.Sprintf("%s attempt %d %s", a.TaskID, a.Number, report.Failure.Code))
	case report.Outcome == phonebooth.OutcomeDone || report.Outcome == phonebooth.OutcomeFailed:
		d.Streak, d.Trail = 0, nil
	}
}

// quarantine takes a device out whose streak is too long, with the attempts that it is made of as evidence.
func (c *Change) quarantine(d *phonebooth.Device, now time.Time) {
	if d.Streak < QuarantineStreak || d.Hold != phonebooth.NoHold {
		return
	}
	d.Hold, d.HoldSince = phonebooth.Quarantined, now
	d.HoldReason = fmt.Sprintf("%d attempts in a row ended quickly: %s", d.Streak, strings.Join(d.Trail, ", "))
	c.deviceEvent(phonebooth.DeviceHeld, *d, phonebooth.EventDetail{Hold: d.Hold, Reason: d.HoldReason})
}

// CoolDown is how long a quarantined device is left alone before its host is asked to probe it: ten leases, and twice as long
// for each failure that a probe before could not foresee.
func (p Policy) CoolDown(streak int) time.Duration {
	return 10 * p.TTL << min(max(streak-QuarantineStreak, 0), 4)
}

// ProbeAsked is the number that a sighting of a quarantined device must repeat to say that it has passed a probe; 0 when no
// probe is due.
func ProbeAsked(d phonebooth.Device, p Policy, now time.Time) int64 {
	if d.Hold != phonebooth.Quarantined || now.Before(d.HoldSince.Add(p.CoolDown(d.Streak))) {
		return 0
	}
	return d.HoldSince.UnixMicro()
}

// passProbe ends the quarantine of a device that has passed the probe that was asked for. Its streak stays: one more quick
// failure, and it is out again, for longer. It reports whether it did.
func (c *Change) passProbe(d *phonebooth.Device, s Sighting) bool {
	if d.Hold != phonebooth.Quarantined || s.Probed == 0 || s.Probed != d.HoldSince.UnixMicro() || s.Condition != phonebooth.Ready {
		return false
	}
	d.Hold, d.HoldReason, d.HoldSince = phonebooth.NoHold, "", time.Time{}
	c.deviceEvent(phonebooth.DeviceUnheld, *d, phonebooth.EventDetail{Hold: d.Hold, Reason: "it passed a probe"})
	return true
}
