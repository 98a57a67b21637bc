//go:build linux

package main_test

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// A phone that an attempt has filled up is not given to anybody until there is room again; the attempt's result does not wait.
func TestC12_APhoneThatCannotBeCleanedIsUnhealthyAndTriedAgainWithBackoff(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t, "--lease-ttl", shortLease)
	h := p.beating(t, "h1")
	phone, well := h.rack.phones[0], h.rack.phones[0].Vitals()
	id := h.beat(t, p)
	phone.SetVitals(simdevice.Vitals{Battery: 50})
	p.over(t)
	p.waitStatus(t, id, "done")

	var device v1.Device
	eventually(t, "an unhealthy phone", func() bool {
		device = p.devices(t)[0]
		return device.Condition == "unhealthy"
	})
	if !strings.Contains(device.ConditionReason, "nothing can be written to /data") || device.Unavailable == "" {
		t.Errorf("the phone says %q and is unavailable for %q, want to be told that nothing can be written to it", device.ConditionReason, device.Unavailable)
	}
	next := p.submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DeviceID: device.ID, Runner: "beat"}})
	probes := func() []simdevice.Command { return h.rack.began(0, "echo phonebooth >") }
	eventually(t, "further tries", func() bool { return len(probes()) >= 5 })
	const first = 200 * time.Millisecond // of a lease of 6 s
	tries := probes()
	for i, pause := 1, first; i < len(tries); i, pause = i+1, 2*pause {
		if waited := tries[i].At - tries[i-1].At; waited < pause {
			t.Errorf("try %d came %v after the one before, want a pause of at least %v", i+1, waited, pause)
		}
	}
	if task := p.task(t, next); task.Status != "queued" || task.Attempt != 0 {
		t.Errorf("the next task is %s in attempt %d beside an unhealthy phone, want it queued and never tried", task.Status, task.Attempt)
	}
	if explained := p.run(t, "task", "explain", next); !strings.Contains(explained, "nothing can be written to /data") {
		t.Errorf("the next task waits for %q, want the phone's own reason", explained)
	}
	phone.SetVitals(well)
	p.waitStatus(t, next, "done")
	p.waitDevices(t, 1)
}
