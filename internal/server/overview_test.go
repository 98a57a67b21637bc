package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// overview waits for an overview that holds what want says; one may be a second old.
func overview(t *testing.T, sys *servertest.System, want func(v1.Overview) bool) (o v1.Overview) {
	t.Helper()
	servertest.Wait(t, "an overview as it should be", func() bool {
		var err error
		if o, err = sys.Client(t).Overview(t.Context()); err != nil {
			t.Fatalf("overview: %v", err)
		}
		return want(o)
	})
	return o
}

func TestAnOverviewShowsThePoolAtOneGlance(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		ill := servertest.Phone("p3")
		ill.Condition, ill.Reason = "unhealthy", "battery at 2 %"
		host := sys.Host(t, "h1", servertest.Phone("p1"), servertest.Phone("p2"), ill)
		running := sys.Submit(t, v1.TaskRequest{Goal: "open\n <b>Settings</b>", Constraints: v1.Constraints{DeviceID: host.DeviceID("p1")}})
		a := host.ClaimOne(t)
		first := sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Tags: []string{"nobody"}}})
		sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Tags: []string{"nobody"}}})
		sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DriverType: "ios"}})
		if _, err := sys.Client(t).Cordon(t.Context(), host.DeviceID("p2"), "its screen is broken"); err != nil {
			t.Fatal(err)
		}
		sys.Settle(t)

		devices := map[string]v1.OverviewDevice{}
		o := overview(t, sys, func(o v1.Overview) bool {
			for _, d := range o.Devices {
				devices[d.ID] = d
			}
			return len(o.Devices) == 3 && devices[host.DeviceID("p2")].Unavailable == "cordoned" && o.LaneCount == 2
		})
		p1, p2, p3 := devices[host.DeviceID("p1")], devices[host.DeviceID("p2")], devices[host.DeviceID("p3")]
		if r := p1.Run; p1.Unavailable != "reserved" || r == nil || r.TaskID != running.ID || r.Attempt != 1 || r.State != "dispatched" ||
			r.Brief != "open <b>Settings</b>" || r.LeaseExpiresAt.Before(o.At) || p1.Since == nil || p1.Name != "p1" || p1.HostID != host.ID {
			t.Errorf("the busy one: %+v, %+v", p1, r)
		}
		if p2.Unavailable != "cordoned" || p2.Reason != "its screen is broken" || p2.Since == nil || p2.Run != nil {
			t.Errorf("the cordoned one: %+v", p2)
		}
		if p3.Unavailable != "condition:unhealthy" || p3.Reason != "battery at 2 %" {
			t.Errorf("the ill one: %+v", p3)
		}
		if want := (v1.OverviewTasks{Queued: 3, Dispatched: 1}); o.Tasks != want {
			t.Errorf("tasks: %+v, want %+v", o.Tasks, want)
		}
		if l := o.Lanes[0]; len(o.Lanes) != 2 || l.Queued != 2 || l.Constraints.Tags[0] != "nobody" || l.Oldest.ID != first.ID || l.Oldest.SubmittedAt.IsZero() {
			t.Errorf("lanes: %+v", o.Lanes)
		}
		if len(o.Hosts) != 1 || o.Hosts[0] != (v1.OverviewHost{ID: host.ID, Name: "h1", State: "ready"}) {
			t.Errorf("hosts: %+v", o.Hosts)
		}

		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "failed", Code: "runner_failed", Message: strings.Repeat("no ", 200)})
		o = overview(t, sys, func(o v1.Overview) bool { return o.Tasks.Failed == 1 })
		if n := len(o.Throughput); n != 1 || o.Throughput[0].Failed != 1 || time.Since(o.Throughput[0].At) > 2*time.Minute {
			t.Errorf("throughput: %+v", o.Throughput)
		}
		if f := o.Failures; len(f) != 1 || f[0].TaskID != running.ID || f[0].Failure.Code != "runner_failed" || f[0].DeviceID != host.DeviceID("p1") ||
			len(f[0].Failure.Message) != 240 || f[0].Brief != "open <b>Settings</b>" {
			t.Errorf("failures: %+v", o.Failures)
		}
		if o.Tasks.Dispatched != 0 || slices.ContainsFunc(o.Devices, func(d v1.OverviewDevice) bool { return d.Run != nil }) {
			t.Errorf("a device still runs: %+v", o.Devices)
		}
	})
}
