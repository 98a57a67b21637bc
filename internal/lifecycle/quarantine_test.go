package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// quarantined is a device that three attempts have taken out at time 30.
func quarantined(t *testing.T) phonebooth.Device {
	t.Helper()
	l := dispatchedLive()
	for i, id := range []phonebooth.TaskID{"task_1", "task_2", "task_3"} {
		l.Attempt.TaskID, l.Attempt.Number = id, i+1
		c, _, err := Finish(l, hostA, 1, abandoned("device_lost"), DeviceWord{}, policy, after(5))
		if err != nil || len(c.Devices) != 1 {
			t.Fatalf("report %d: %+v, %v", i, c.Devices, err)
		}
		l.Device = c.Devices[0]
	}
	if l.Device.Hold != phonebooth.Quarantined {
		t.Fatalf("hold = %s, want quarantined", l.Device.Hold)
	}
	return l.Device
}

func TestC34_QuarantineNamesItsEvidence(t *testing.T) {
	t.Parallel()
	d := quarantined(t)
	for _, want := range []string{"3 attempts", "task_1 attempt 1 device_lost", "task_2 attempt 2 device_lost", "task_3 attempt 3 device_lost"} {
		if !strings.Contains(d.HoldReason, want) {
			t.Errorf("the reason is %q, want %q in it", d.HoldReason, want)
		}
	}
}

func TestC34_APassingProbeBringsADeviceBack(t *testing.T) {
	t.Parallel()
	d := quarantined(t)
	cool := 5 + policy.CoolDown(3).Seconds()
	if n := ProbeAsked(d, policy, after(cool-1)); n != 0 {
		t.Errorf("a probe is asked for (%d) before the device was left alone for a while", n)
	}
	number := ProbeAsked(d, policy, after(cool))
	if number == 0 {
		t.Fatal("no probe is asked for after that")
	}
	for _, c := range []struct {
		name      string
		probed    int64
		condition phonebooth.Condition
		lifts     bool
	}{
		{"not probed", 0, phonebooth.Ready, false},
		{"the probe of an older quarantine", number - 1, phonebooth.Ready, false},
		{"passed, and not ready any more", number, phonebooth.Unhealthy, false},
		{"passed", number, phonebooth.Ready, true},
	} {
		s := sighting(c.condition)
		s.Probed = c.probed
		change, err := Inventory(listeningHost(), phonebooth.Word{Incarnation: 1, Seq: 9}, []Sighting{s}, []phonebooth.Device{d}, after(cool+1))
		if err != nil {
			t.Fatal(err)
		}
		got := d
		for _, changed := range change.Devices {
			got = changed
		}
		if (got.Hold == phonebooth.NoHold) != c.lifts || c.lifts && got.HoldReason != "" {
			t.Errorf("%s: hold = %s %q, want it to be lifted: %t", c.name, got.Hold, got.HoldReason, c.lifts)
		}
	}
}

func TestC34_AfterAProbeOneMoreFailureIsEnoughAndTheNextProbeIsLater(t *testing.T) {
	t.Parallel()
	l := dispatchedLive()
	l.Device = quarantined(t)
	l.Device.Hold, l.Device.HoldReason, l.Device.HoldSince = phonebooth.NoHold, "", time.Time{}
	c, _, err := Finish(l, hostA, 1, abandoned("try_again"), DeviceWord{}, policy, after(5))
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Devices[0]; d.Hold != phonebooth.Quarantined || policy.CoolDown(d.Streak) != 2*policy.CoolDown(3) {
		t.Errorf("hold = %s with streak %d, want quarantined for twice as long", d.Hold, d.Streak)
	}
	if longest := policy.CoolDown(1000); longest != policy.CoolDown(7) {
		t.Errorf("after a thousand failures the pause is %v, want %v at most", longest, policy.CoolDown(7))
	}
	l.Device = quarantined(t)
	l.Device.Hold = phonebooth.NoHold
	c, _, err = Finish(l, hostA, 1, report(phonebooth.OutcomeDone), DeviceWord{}, policy, after(5))
	if err != nil || c.Devices[0].Streak != 0 || c.Devices[0].Trail != nil {
		t.Errorf("after a success: %+v, %v, want no streak", c.Devices[0], err)
	}
}
