package server_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

var short = servertest.Options{TTL: servertest.ShortTTL}

func queuedAgain(n int) func(v1.Task) bool {
	return func(t v1.Task) bool { return t.Attempt == n && t.Status == "queued" }
}

func TestS7_1_C01_AnExpiredLeaseIsRetriedAndItsDeviceComesBackWithTheHostsWord(t *testing.T) {
	servertest.EachWith(t, short, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.WaitTask(t, task.ID, queuedAgain(1)) // the host never renews
		attempts := sys.Attempts(t, task.ID)
		if len(attempts) != 1 || attempts[0].Ending != "expired" || attempts[0].Reason == nil || attempts[0].Reason.Code != "lease_expired" {
			t.Errorf("attempts %+v, want the expired one on record", attempts)
		}
		d := sys.Device(t, host.DeviceID("p1"))
		if d.TaskID != "" || d.Condition != "unconfirmed" {
			t.Errorf("device %+v, want it free and unconfirmed", d)
		}
		host.MustInventory(t) // asks for confirmation, and the scripted host repeats it
		next := host.ClaimOne(t)
		if next.Task.ID != task.ID || next.Attempt != 2 || next.LeaseID == a.LeaseID {
			t.Errorf("claimed %+v, want attempt 2 under a new lease", next)
		}
	})
}

func TestS7_1_AnUnclaimedAssignmentIsRetriedElsewhere(t *testing.T) {
	servertest.EachWith(t, short, func(t *testing.T, sys *servertest.System) {
		dead := sys.Host(t, "dead", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		alive := sys.Host(t, "alive", servertest.Phone("p2"))
		a := alive.ClaimOne(t)
		if a.Task.ID != task.ID || a.Attempt != 2 {
			t.Errorf("claimed %+v, want attempt 2", a)
		}
		if got := sys.HostState(t, dead.ID); got != "deaf" && got != "silent" {
			t.Errorf("the host that did not claim is %s, want deaf", got)
		}
	})
}

func TestS7_2_AtTheLimitTheTaskFails(t *testing.T) {
	servertest.EachWith(t, short, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
		host.ClaimOne(t)
		got := sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "failed" })
		if got.Failure == nil || got.Failure.Code != "lease_expired" {
			t.Errorf("failure %+v, want lease_expired", got.Failure)
		}
		if d := sys.Device(t, host.DeviceID("p1")); d.TaskID != "" {
			t.Errorf("the device is still held by %s", d.TaskID)
		}
	})
}

func TestS7_3_C22_WithACancellationPendingADeadHostsTaskIsCancelled(t *testing.T) {
	servertest.EachWith(t, short, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 5})
		host.ClaimOne(t)
		sys.Cancel(t, task.ID)
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "cancelled" })
		if d := sys.Device(t, host.DeviceID("p1")); d.TaskID != "" {
			t.Errorf("the device is still held by %s", d.TaskID)
		}
	})
}

func TestS7_4_EveryAttemptCanBeReadBack(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		for i := 1; i <= 2; i++ {
			a := host.ClaimOne(t)
			host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "try_again", Message: "no luck", Runner: "fake"})
		}
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Runner: "fake"})
		sys.Restart(t)
		attempts := sys.Attempts(t, task.ID)
		if len(attempts) != 3 {
			t.Fatalf("%d attempts, want 3", len(attempts))
		}
		for i, at := range attempts {
			want := map[bool]string{true: "done", false: "abandoned"}[i == 2]
			if at.Number != i+1 || at.HostID != host.ID || at.DeviceID != host.DeviceID("p1") || at.Ending != want ||
				at.DispatchedAt == nil || at.EndedAt == nil || at.Runner != "fake" {
				t.Errorf("attempt %d is %+v, want it whole, ended as %s", i+1, at, want)
			}
		}
	})
}

func TestS7_5_AGivenUpAttemptIsRequeuedAtOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 2})
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "agent_stopping"})
		if b := host.ClaimOne(t); b.Attempt != 2 {
			t.Errorf("attempt %d, want 2", b.Attempt)
		} else {
			host.MustReport(t, v1.ReportRequest{LeaseID: b.LeaseID, Outcome: "abandoned", Code: "device_lost"})
		}
		got := sys.Task(t, task.ID)
		if got.Status != "failed" || got.Failure.Code != "device_lost" {
			t.Errorf("at the limit %s %+v, want failed with device_lost", got.Status, got.Failure)
		}
	})
}

func TestS7_5_AGivenUpAttemptWithACancellationIsCancelled(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.Cancel(t, task.ID)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "agent_stopping"})
		if got := sys.Task(t, task.ID); got.Status != "cancelled" {
			t.Errorf("the task is %s, want cancelled", got.Status)
		}
	})
}

func TestReleaseForceEndsAWedgedAttempt(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
		a := host.ClaimOne(t)
		if err := sys.Release(t, host.DeviceID("p1")); err != nil {
			t.Fatalf("release: %v", err)
		}
		if got := sys.Task(t, task.ID); got.Status != "failed" || got.Failure.Code != "released" {
			t.Errorf("the task is %+v, want failed, released", got)
		}
		if r := host.MustRenew(t, a.LeaseID); r[0].Lost != "released" {
			t.Errorf("renewal %+v, want lost: released", r)
		}
		if d := sys.Device(t, host.DeviceID("p1")); d.Condition != "unconfirmed" {
			t.Errorf("the device is %s, want unconfirmed", d.Condition)
		}
		if err := sys.Release(t, host.DeviceID("p1")); phonebooth.CodeOf(err) != "not_reserved" {
			t.Errorf("second release: %v, want not_reserved", err)
		}
	})
}
