package server_test

import (
	"fmt"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestS2_1_ATaskIsBoundToAMatchingIdleDevice(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		ios, old, right := servertest.Phone("ios"), servertest.Phone("old"), servertest.Phone("right")
		ios.DriverType, ios.Tags = "ios", []string{"api:34", "lab"}
		old.Tags = []string{"lab", "api:28"}
		right.Tags = []string{"lab", "api:34", "extra"}
		host := sys.Host(t, "h1", ios, old, right)
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DriverType: "android", Tags: []string{"api:34", "lab"}}})
		got := sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		if got.DeviceID != host.DeviceID("right") || got.HostID != host.ID || got.Attempt != 1 || got.AssignedAt == nil || got.LeaseExpiresAt == nil {
			t.Errorf("got %+v, want attempt 1 assigned to %s of %s", got, host.DeviceID("right"), host.ID)
		}
	})
}

func TestS2_2_AnUnplaceableHeadNeverBlocksALaterTask(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		stuck := sys.Submit(t, v1.TaskRequest{Goal: "stuck", Constraints: v1.Constraints{Tags: []string{"no-such-tag"}}})
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.Host(t, "h1", servertest.Phone("p1"))
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		if got := sys.Task(t, stuck.ID); got.Status != "queued" {
			t.Errorf("the head is %s, want queued", got.Status)
		}
		late := servertest.Phone("p2")
		late.Tags = []string{"no-such-tag"}
		sys.Host(t, "h2", late)
		sys.WaitTask(t, stuck.ID, func(task v1.Task) bool { return task.Status == "assigned" })
	})
}

func TestC13_AHundredImpossibleTasksDoNotBlockAPossibleOne(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		for i := range 100 {
			sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Tags: []string{fmt.Sprintf("nobody-%d", i%7)}}})
		}
		sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "possible"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
	})
}

func TestS3_2_OverlappingConstraintsAndOneDevice(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		p := servertest.Phone("p1")
		p.Tags = []string{"lab", "api:34"}
		a := sys.Submit(t, v1.TaskRequest{Goal: "a", Constraints: v1.Constraints{Tags: []string{"lab"}}})
		b := sys.Submit(t, v1.TaskRequest{Goal: "b", Constraints: v1.Constraints{Tags: []string{"api:34"}}})
		host := sys.Host(t, "h1", p)
		got := host.ClaimOne(t)
		if got.Task.ID != a.ID {
			t.Errorf("the device went to %s, want the older task %s", got.Task.ID, a.ID)
		}
		if got := sys.Task(t, b.ID); got.Status != "queued" {
			t.Errorf("the younger task is %s, want queued", got.Status)
		}
	})
}

func TestS5_1_BindingIsOneTransaction(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		attempts := sys.Attempts(t, task.ID)
		if len(attempts) != 1 || attempts[0].State != "assigned" || attempts[0].DeviceID != host.DeviceID("p1") || !attempts[0].ExpiresAt.After(attempts[0].AssignedAt) {
			t.Errorf("attempts %+v, want one assigned on the device with an expiry", attempts)
		}
		for _, d := range sys.Devices(t) {
			if d.TaskID != task.ID || d.Unavailable != "reserved" {
				t.Errorf("device %+v, want it reserved for the task", d)
			}
		}
	})
}

func TestS5_2_AReservedDeviceIsNobodyElsesWhateverTheSnapshotSays(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		sys.Submit(t, v1.TaskRequest{Goal: "first"})
		a := host.ClaimOne(t)
		host.MustInventory(t) // says ready all the same
		second := sys.Submit(t, v1.TaskRequest{Goal: "second"})
		sys.Settle(t)
		if got := sys.Task(t, second.ID); got.Status != "queued" {
			t.Errorf("the second task is %s, want queued", got.Status)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		sys.WaitTask(t, second.ID, func(task v1.Task) bool { return task.Status == "assigned" })
	})
}

func TestC26_ASilentHostsDevicesAreNoCandidatesUntilItIsBack(t *testing.T) {
	servertest.EachWith(t, servertest.Options{TTL: servertest.ShortTTL}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		sys.WaitDevice(t, host.DeviceID("p1"), func(d v1.Device) bool { return d.Unavailable == "host_silent" || d.Unavailable == "host_deaf" })
		sys.WaitHost(t, host.ID, func(h v1.Host) bool { return h.State == "silent" })
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.Settle(t)
		if got := sys.Task(t, task.ID); got.Status != "queued" {
			t.Fatalf("the task is %s, want queued", got.Status)
		}
		host.MustInventory(t)
		if got := host.ClaimOne(t); got.Task.ID != task.ID {
			t.Errorf("claimed %s, want %s", got.Task.ID, task.ID)
		}
	})
}

func TestC35_ADrainLetsTheRunningTaskEndAndStartsNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"), servertest.Phone("p2"))
		sys.Submit(t, v1.TaskRequest{Goal: "running"})
		a := host.ClaimOne(t)
		sys.Drain(t, host.ID)
		waiting := sys.Submit(t, v1.TaskRequest{Goal: "waiting"})
		sys.Settle(t)
		if got := sys.Task(t, waiting.ID); got.Status != "queued" {
			t.Errorf("the waiting task is %s, want queued", got.Status)
		}
		if got := sys.HostState(t, host.ID); got != "draining" {
			t.Errorf("the host is %s, want draining", got)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		if got := sys.HostState(t, host.ID); got != "drained" {
			t.Errorf("the host is %s, want drained", got)
		}
		sys.Resume(t, host.ID)
		sys.WaitTask(t, waiting.ID, func(task v1.Task) bool { return task.Status == "assigned" })
	})
}
