package lifecycle

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// The rows that most tests start from: host a with one idle phone, at epoch.
var (
	epoch  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = NewPolicy(DefaultTTL)
)

const (
	hostA  = phonebooth.HostID("host_a")
	keyUSB = "usb:1-2"
)

// after is the time s seconds after the epoch.
func after(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

func listeningHost() phonebooth.Host {
	return phonebooth.Host{
		ID: hostA, Name: "a", Incarnation: 1, StartID: "start-1", Word: phonebooth.Word{Incarnation: 1, Seq: 5},
		HeardAt: epoch, PolledAt: epoch, RegisteredAt: epoch.Add(-time.Hour), Rev: 20,
	}
}

func readyDevice() phonebooth.Device {
	return phonebooth.Device{
		ID: phonebooth.DeviceIDOf(hostA, keyUSB), HostID: hostA, Key: keyUSB, Name: "R58M12", DriverType: "android",
		Condition: phonebooth.Ready, ConditionSince: epoch.Add(-time.Hour), Word: phonebooth.Word{Incarnation: 1, Seq: 2},
		Hold: phonebooth.NoHold, RegisteredAt: epoch.Add(-time.Hour), Rev: 10,
	}
}

// taskIn is a task in a status, at its first of three attempts unless it is queued.
func taskIn(status phonebooth.Status) phonebooth.Task {
	t := phonebooth.Task{
		TaskSpec: phonebooth.TaskSpec{Goal: "open Settings", MaxAttempts: 3, Timeout: 30 * time.Minute},
		ID:       "task_1", Rev: 3, Seq: 1, Status: status, CreatedAt: epoch.Add(-time.Minute),
	}
	if status != phonebooth.Queued {
		d := readyDevice()
		t.Attempt, t.DeviceID, t.HostID, t.AssignedAt = 1, d.ID, d.HostID, epoch
	}
	if status.Terminal() {
		t.FinishedAt = epoch
	}
	return t
}

// assignedLive is an attempt that was placed at the epoch.
func assignedLive() Live {
	d := readyDevice()
	return Live{Host: listeningHost(), Device: d, Task: taskIn(phonebooth.Assigned), Attempt: phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: "task_1", Number: 1}, LeaseID: "lease_1", HostID: hostA, DeviceID: d.ID,
		State: phonebooth.AttemptAssigned, AssignedAt: epoch, ExpiresAt: epoch.Add(policy.ClaimWindow),
	}}
}

// dispatchedLive is an attempt that was placed and claimed at the epoch.
func dispatchedLive() Live {
	l := assignedLive()
	l.Task.Status, l.Task.DispatchedAt = phonebooth.Dispatched, epoch
	l.Attempt.State, l.Attempt.DispatchedAt, l.Attempt.ExpiresAt = phonebooth.AttemptDispatched, epoch, epoch.Add(policy.TTL)
	l.Attempt.ClaimID, l.Attempt.Incarnation = "claim-1", 1
	return l
}

// endedLive is an attempt that was claimed at the epoch and expired, with its task queued again.
func endedLive() Live {
	l := dispatchedLive()
	l.Task.Status = phonebooth.Queued
	l.Attempt.State, l.Attempt.Ending, l.Attempt.EndedAt = phonebooth.AttemptEnded, phonebooth.EndedExpired, after(35)
	return l
}

func cancelling(l Live) Live {
	l.Task.CancelRequestedAt = epoch
	return l
}

// lastAttempt makes the attempt the last that the task may have.
func lastAttempt(l Live) Live {
	l.Task.MaxAttempts = l.Attempt.Number
	return l
}

func report(outcome phonebooth.Outcome) phonebooth.Report { return phonebooth.Report{Outcome: outcome} }

func abandoned(code string) phonebooth.Report {
	return phonebooth.Report{Outcome: phonebooth.OutcomeAbandoned, Failure: phonebooth.Failure{Code: code, Message: "because"}}
}

// says is a word on the device under incarnation 1.
func says(seq int64, condition phonebooth.Condition) DeviceWord {
	return DeviceWord{Word: phonebooth.Word{Incarnation: 1, Seq: seq}, Condition: condition}
}

// wantCode fails unless err is a refusal with the code; "" wants none.
func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := phonebooth.CodeOf(err); got != want {
		t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

// wantEmpty fails when c would write anything.
func wantEmpty(t *testing.T, c Change) {
	t.Helper()
	if !c.Empty() {
		t.Fatalf("got change %+v, want none", c)
	}
}
