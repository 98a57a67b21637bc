package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// base is when everything in these tests begins.
var base = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func after(d time.Duration) time.Time { return base.Add(d) }

// put writes a change as the ledger does: it loads what the change touches, numbers the events and keeps the head.
func put(t *testing.T, st store.Store, change lifecycle.Change) error {
	return st.Write(t.Context(), func(tx store.Tx) error { return save(t.Context(), tx, change, base) })
}

func save(ctx context.Context, tx store.Tx, change lifecycle.Change, now time.Time) error {
	rows, err := tx.Load(ctx, keysOf(change))
	if err != nil {
		return err
	}
	head, err := tx.Head(ctx)
	if err != nil {
		return err
	}
	for _, task := range change.Tasks {
		if rows.Tasks[task.ID].Status == phonebooth.Queued {
			head.Queued--
		}
		if task.Status == phonebooth.Queued {
			head.Queued++
		}
	}
	for i := range change.Events {
		head.Pos++
		change.Events[i].Pos, change.Events[i].At = head.Pos, now
	}
	if now.After(head.Now) {
		head.Now = now
	}
	return tx.Save(ctx, change, &head)
}

func keysOf(change lifecycle.Change) store.Keys {
	var keys store.Keys
	for _, h := range change.Hosts {
		keys.Hosts = append(keys.Hosts, h.ID)
	}
	for _, d := range change.Devices {
		keys.Devices = append(keys.Devices, d.ID)
	}
	for _, v := range change.Tasks {
		keys.Tasks = append(keys.Tasks, v.ID)
	}
	for _, a := range change.Attempts {
		keys.Attempts = append(keys.Attempts, a.AttemptKey)
	}
	return keys
}

func mustPut(t *testing.T, st store.Store, change lifecycle.Change) {
	t.Helper()
	if err := put(t, st, change); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// load reads rows in a transaction of its own, which writes nothing.
func load(t *testing.T, st store.Store, keys store.Keys) *store.Rows {
	t.Helper()
	var rows *store.Rows
	err := st.Write(t.Context(), func(tx store.Tx) (err error) {
		rows, err = tx.Load(t.Context(), keys)
		return err
	})
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return rows
}

// must is the value of a call that may not go wrong.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return v
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

func host(id phonebooth.HostID) phonebooth.Host {
	return phonebooth.Host{ID: id, Name: "rack-" + string(id), HeardAt: base, PolledAt: base, RegisteredAt: base, Rev: 1}
}

func device(id phonebooth.DeviceID, host phonebooth.HostID) phonebooth.Device {
	return phonebooth.Device{
		ID: id, HostID: host, Key: "key-" + string(id), Name: string(id), DriverType: "sim", Condition: phonebooth.Ready,
		Hold: phonebooth.NoHold, RegisteredAt: base, Rev: 1,
	}
}

// task is a queued one. Seq must be its own.
func task(id phonebooth.TaskID, seq int64) phonebooth.Task {
	return phonebooth.Task{
		TaskSpec: phonebooth.TaskSpec{Goal: "print " + string(id), Timeout: time.Minute, MaxAttempts: 3},
		ID:       id, Seq: seq, Rev: 1, Status: phonebooth.Queued, CreatedAt: base,
	}
}

func submitted(t phonebooth.Task) phonebooth.Event {
	return phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: t.ID, Detail: phonebooth.EventDetail{Status: t.Status}}
}

// attempt is an assigned one.
func attempt(id phonebooth.TaskID, number int, d phonebooth.Device) phonebooth.Attempt {
	return phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: id, Number: number},
		LeaseID:    phonebooth.LeaseID("lease_" + string(id) + "_" + string(rune('0'+number))),
		HostID:     d.HostID, DeviceID: d.ID, State: phonebooth.AttemptAssigned,
		AssignedAt: base, ExpiresAt: after(15 * time.Second),
	}
}

func ended(a phonebooth.Attempt) phonebooth.Attempt {
	a.State, a.Ending, a.EndedAt = phonebooth.AttemptEnded, phonebooth.EndedExpired, after(time.Minute)
	return a
}

// placed is t bound to d by a fresh attempt, with the events since its submission.
func placed(t phonebooth.Task, d phonebooth.Device) lifecycle.Change {
	t.Attempt++
	a := attempt(t.ID, t.Attempt, d)
	t.Status, t.DeviceID, t.HostID, t.AssignedAt, t.Rev = phonebooth.Assigned, d.ID, d.HostID, base, t.Rev+1
	return lifecycle.Change{
		Tasks: []phonebooth.Task{t}, Attempts: []phonebooth.Attempt{a},
		Reserve: []phonebooth.Reservation{{DeviceID: d.ID, Attempt: a.AttemptKey, Since: base}},
		Events:  []phonebooth.Event{{Kind: phonebooth.TaskAssigned, TaskID: t.ID, Attempt: t.Attempt, DeviceID: d.ID, HostID: d.HostID}},
	}
}

// pool writes host h1 with the devices d1 and d2, host h2 with d3, and the queued tasks t1, t2 and t3, of positions 1 to 3.
func pool(t *testing.T, st store.Store) {
	t.Helper()
	change := lifecycle.Change{
		Hosts:   []phonebooth.Host{host("h1"), host("h2")},
		Devices: []phonebooth.Device{device("d1", "h1"), device("d2", "h1"), device("d3", "h2")},
		Tasks:   []phonebooth.Task{task("t1", 1), task("t2", 2), task("t3", 3)},
	}
	for _, v := range change.Tasks {
		change.Events = append(change.Events, submitted(v))
	}
	mustPut(t, st, change)
}

// full values use every field.
func fullHost() phonebooth.Host {
	return phonebooth.Host{
		ID: "h1", Name: "rack", TokenHash: "hash", Incarnation: 1_000_003, StartID: "start", Version: "1.2.3",
		DrainingSince: after(time.Microsecond), SilentSince: after(time.Second), DeafSince: after(time.Minute), DeafReason: "its request broke",
		Word: phonebooth.Word{Incarnation: 7, Seq: 1 << 40}, HeardAt: after(3 * time.Second), PolledAt: after(4 * time.Second),
		RegisteredAt: base, RemovedAt: after(time.Hour), Rev: 9,
	}
}

func fullDevice() phonebooth.Device {
	return phonebooth.Device{
		ID: "d1", HostID: "h1", Key: "usb:1-2", Name: "Pixel \"7\" – 電話", DriverType: "android", Tags: []string{"5g", "a,b"},
		Runners: []string{"fake", "adb-shell"}, Fence: "gate", Attributes: map[string]string{"model": "Pixel <7>", "": "x"},
		Condition: phonebooth.Unconfirmed, ConditionReason: "its lease expired", ConditionSince: after(time.Second),
		Word: phonebooth.Word{Incarnation: 3, Seq: 12}, Confirm: 8, Hold: phonebooth.Quarantined, HoldReason: "three in a row",
		HoldSince: after(2 * time.Second), Streak: 3, Trail: []string{"task_1 attempt 1 device_lost"}, RegisteredAt: base, Rev: 8,
	}
}

func fullTask() phonebooth.Task {
	return phonebooth.Task{
		TaskSpec: phonebooth.TaskSpec{
			Workflow: &phonebooth.WorkflowRef{Name: "login", Version: 4}, Inputs: json.RawMessage(`{ "a": [1, "<é>"] }`),
			Constraints: phonebooth.Constraints{
				DriverType: "android", Tags: []string{"5g", "lab"}, Runner: "fake", DeviceID: "d1", HostID: "h1",
			},
			Priority: -3, Timeout: 90 * time.Second, QueueTimeout: time.Hour, MaxAttempts: 5,
			Labels: map[string]string{"team": "qa", `we"ird.key`: "a b"},
		},
		ID: "t1", Submission: phonebooth.Submission{Subject: "admin", IdempotencyKey: "k1", BodyHash: "b"},
		Seq: 1, Rev: 6, Status: phonebooth.Failed, Attempt: 2, DeviceID: "d1", HostID: "h1", CancelRequestedAt: after(time.Second),
		Failure: &phonebooth.Failure{Code: "timeout", Message: "it took too long"}, Result: json.RawMessage(`{"steps": 3}`),
		CreatedAt: base, QueueDeadline: after(time.Hour), AssignedAt: after(2 * time.Second), DispatchedAt: after(3 * time.Second),
		FinishedAt: after(4 * time.Second),
	}
}

func fullAttempt() phonebooth.Attempt {
	return phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: "t1", Number: 1}, LeaseID: "lease_1", HostID: "h1", DeviceID: "d1",
		State: phonebooth.AttemptEnded, ClaimID: "claim", Incarnation: 3, AssignedAt: base, DispatchedAt: after(time.Second),
		ExpiresAt: after(time.Minute), EndedAt: after(2 * time.Minute), Ending: phonebooth.EndedExpired,
		Reason: phonebooth.Failure{Code: "lease_expired", Message: "the host stopped renewing"},
		Reported: &phonebooth.Report{
			Outcome: phonebooth.OutcomeFailed, Failure: phonebooth.Failure{Code: "c", Message: "m"},
			Result: json.RawMessage(`{ "x" : 1 }`), Runner: "fake", Fence: "process",
		},
		Evidence: &phonebooth.Report{Outcome: phonebooth.OutcomeDone},
	}
}
