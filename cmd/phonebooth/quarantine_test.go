//go:build linux

package main_test

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// picky is a host's configuration with the runner picky: it asks to be tried again at once on the phone that the file "bad" names.
const picky = `
runners:
  - name: picky
    drivers: [android]
    argv: [sh, -c, 'test "$(cat "$HOME/bad")" != "$ANDROID_SERIAL" || exit 75; adb shell echo driven']
`

// quarantined waits until a device is taken out, and returns it.
func (p *plane) quarantined(t testing.TB, id string) (device v1.Device) {
	t.Helper()
	eventually(t, "a device in quarantine", func() bool {
		device = p.device(t, id)
		return device.Hold == "quarantined"
	})
	return device
}

func (p *plane) device(t testing.TB, id string) v1.Device {
	t.Helper()
	for _, d := range p.devices(t) {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no device %s", id)
	return v1.Device{}
}

func TestC34_APhoneThatFailsQuicklyIsTakenOutAndComesBackByHandOrByAProbe(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	r := b.rack(t, 2)
	p := b.server(t, "--lease-ttl", chaosLease.String())
	b.write(t, "bad", "none")
	p.agent(t, "h1", 0, "--adb", "auto", "--config", b.write(t, "picky.yaml", picky))
	r.attach(t)
	p.waitDevices(t, 2)
	task := func(device string) string {
		return p.submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 10, Constraints: v1.Constraints{DeviceID: device, DriverType: "android", Runner: "picky"}})
	}
	bad := p.device(t, p.waitStatus(t, task(""), "done").DeviceID) // it comes first again while both are idle
	p.waitDevices(t, 2)
	b.write(t, "bad", bad.Name)

	moved := p.waitStatus(t, task(""), "done")
	if moved.DeviceID == bad.ID || moved.Attempt != 2 || p.attempts(t, moved.ID)[0].DeviceID != bad.ID {
		t.Errorf("the task was done in attempt %d of %+v, want it tried on the bad phone once, and then on the other", moved.Attempt, p.attempts(t, moved.ID))
	}
	stuck := task(bad.ID)
	held := p.quarantined(t, bad.ID)
	if !strings.Contains(held.HoldReason, "attempts in a row ended quickly") || !strings.Contains(held.HoldReason, stuck) || !strings.Contains(held.HoldReason, "try_again") {
		t.Errorf("the phone was taken out because %q, want the attempts that it is for", held.HoldReason)
	}
	if _, err := p.client.Cancel(t.Context(), stuck); err != nil {
		t.Fatal(err)
	}
	p.waitStatus(t, stuck, "cancelled")
	if other := p.waitStatus(t, task(""), "done"); other.DeviceID == bad.ID || other.Attempt != 1 {
		t.Errorf("a task was done on %s in attempt %d beside a phone in quarantine, want the other phone at once", other.DeviceID, other.Attempt)
	}

	// By hand, and with nothing mended it is out again.
	p.run(t, "device", "uncordon", bad.ID)
	again := task(bad.ID)
	if later := p.quarantined(t, bad.ID); later.HoldSince == nil || !later.HoldSince.After(*held.HoldSince) || strings.Contains(later.HoldReason, stuck) {
		t.Errorf("the phone was taken out again with %+v, want new evidence alone", later)
	}
	// Mended, it comes back by itself, and the task that waits for it is done.
	if err := os.Remove(b.path("bad")); err != nil {
		t.Fatal(err)
	}
	p.waitStatus(t, again, "done")
	probed := false
	for _, e := range p.events(t, client.EventQuery{}) {
		probed = probed || e.DeviceID == bad.ID && e.Kind == "device.unheld" && e.Detail.Reason == "it passed a probe"
	}
	if !probed || p.device(t, bad.ID).Hold != "none" {
		t.Errorf("the phone came back as %+v, and by a probe: %v", p.device(t, bad.ID), probed)
	}
}
