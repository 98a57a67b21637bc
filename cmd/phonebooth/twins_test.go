//go:build linux

package main_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// emulate lets the rack's server know a phone at address as an emulator, and returns what it calls that.
func (r *rack) emulate(t testing.TB, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	eventually(t, "an emulator", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := r.client.Version(ctx); err != nil {
			return false
		}
		devices, _ := r.client.Devices(ctx) // none, in an error
		at := slices.IndexFunc(devices, func(d adb.Device) bool { return strings.HasPrefix(d.Serial, "emulator-") && d.State.Ready() })
		if at < 0 {
			_, _ = r.client.Query(ctx, "host:emulator:"+port) // the next look tells
			return false
		}
		name = devices[at].Serial
		return true
	})
	return name
}

// An adb server names an emulator by its port, so that two hosts have each their emulator-5554. Here it is one phone with two
// names that are the same, each host's its own.
func TestC27_AnEmulatorOfOneNameOnTwoHostsIsTwoDevices(t *testing.T) {
	t.Parallel()
	p := newBooth(t).server(t)
	phone := simdevice.New(simdevice.Options{Properties: map[string]string{"ro.kernel.qemu": "1"}})
	address := adbtest.Serve(t, phone)
	hosts := map[string]*host{}
	var names []string
	for _, name := range []string{"h1", "h2"} {
		r := p.rack(t, 0)
		h := p.agent(t, name, 0, "--adb", "auto")
		hosts[h.id] = h
		names = append(names, r.emulate(t, address))
	}
	devices := p.waitDevices(t, 2)
	if names[0] != names[1] || devices[0].Name != names[0] || devices[1].Name != names[0] || devices[0].ID == devices[1].ID || devices[0].HostID == devices[1].HostID {
		t.Fatalf("the servers know %q, and the devices are %+v; want one name twice, two ids and two hosts", names, devices)
	}
	// Both at one time, each where it belongs.
	var tasks []string
	for i, d := range devices {
		script := fmt.Sprintf("adb shell echo task %d on $ANDROID_SERIAL; until test -e %s; do sleep 0.05; done", i, p.path("over"))
		tasks = append(tasks, p.submit(t, v1.TaskRequest{Goal: script, Constraints: v1.Constraints{DeviceID: d.ID, Runner: "shell"}}))
	}
	for i := range tasks {
		eventually(t, "a phone that is driven", func() bool {
			return slices.ContainsFunc(phone.Commands(), func(c simdevice.Command) bool {
				return c.Line == fmt.Sprintf("echo task %d on %s", i, names[0])
			})
		})
	}
	p.over(t)
	for i, id := range tasks {
		if task := p.waitStatus(t, id, "done"); task.HostID != devices[i].HostID || task.DeviceID != devices[i].ID || task.Attempt != 1 {
			t.Errorf("task %d was done in attempt %d on %s of %s, want its own device of %s", i, task.Attempt, task.DeviceID, task.HostID, devices[i].HostID)
		}
	}
	if len(hosts) != 2 {
		t.Errorf("the hosts are %v, want two", hosts)
	}
}
