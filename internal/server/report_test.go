package server_test

import (
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestS8_1_AReportMovesTheTaskOnceAndReleasesTheDevice(t *testing.T) {
	for _, outcome := range []string{"done", "failed", "cancelled"} {
		t.Run(outcome, func(t *testing.T) {
			servertest.Each(t, func(t *testing.T, sys *servertest.System) {
				host := sys.Host(t, "h1", servertest.Phone("p1"))
				task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
				a := host.ClaimOne(t)
				host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: outcome, Code: "runner_failed", Message: "exit 1", Result: []byte(`{"n":1}`)})
				if got := sys.Task(t, task.ID); got.Status != outcome || got.FinishedAt == nil || string(got.Result) != `{"n":1}` || got.LeaseExpiresAt != nil {
					t.Errorf("the task is %+v, want %s", got, outcome)
				}
				if d := sys.Device(t, host.DeviceID("p1")); d.TaskID != "" || d.Unavailable != "" {
					t.Errorf("device %+v, want it free", d)
				}
			})
		})
	}
}

func TestS8_1_ALeasePastItsExpiryIsCurrentForReportsUntilTheSweep(t *testing.T) {
	servertest.EachWith(t, servertest.Options{TTL: servertest.ShortTTL, NoSweep: true}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.WaitExpired(t, task.ID)
		if r := host.MustRenew(t, a.LeaseID); r[0].Lost != "expired" {
			t.Errorf("S10.4: renewal %+v, want lost: expired", r)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		if got := sys.Task(t, task.ID); got.Status != "done" {
			t.Errorf("the task is %s, want done", got.Status)
		}
	})
}

func TestS8_2_TheSameReportAgainChangesNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		give := v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "try_again"}
		host.MustReport(t, give)
		b := host.ClaimOne(t)
		before := sys.Task(t, task.ID)
		host.MustReport(t, give) // whatever happened to the task since
		if after := sys.Task(t, task.ID); after.Attempt != before.Attempt || after.Status != "dispatched" {
			t.Errorf("the repeat changed %+v to %+v", before, after)
		}
		done := v1.ReportRequest{LeaseID: b.LeaseID, Outcome: "done"}
		host.MustReport(t, done)
		host.MustReport(t, done)
		if got := sys.Task(t, task.ID); got.Status != "done" {
			t.Errorf("the task is %s, want done", got.Status)
		}
	})
}

func TestS8_3_C04_ALateReportIsRefusedKeptAsEvidenceAndHarmsNobody(t *testing.T) {
	servertest.EachWith(t, short, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.WaitTask(t, task.ID, queuedAgain(1))
		host.MustInventory(t)
		b := host.ClaimOne(t)
		_, err := host.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Message: "late"})
		if phonebooth.CodeOf(err) != "lease_lost" || !strings.Contains(err.Error(), "superseded") {
			t.Errorf("late report: %v, want lease_lost, superseded", err)
		}
		if got := sys.Task(t, task.ID); got.Status != "dispatched" || got.Attempt != 2 {
			t.Errorf("the task is %+v, want attempt 2 untouched", got)
		}
		if got := sys.Attempts(t, task.ID)[0]; got.LateReport == nil || got.LateReport.Outcome != "done" || got.Ending != "expired" {
			t.Errorf("attempt 1 is %+v, want it expired with the late report", got)
		}
		if r := host.MustRenew(t, a.LeaseID, b.LeaseID); r[0].Lost != "superseded" || r[1].Lost != "" {
			t.Errorf("renewals %+v, want the first superseded and the second alive", r)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: b.LeaseID, Outcome: "done"})
	})
}

func TestS8_4_AnotherOutcomeIsAConflict(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		for _, outcome := range []string{"failed", "cancelled", "abandoned"} {
			if _, err := host.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: outcome}); phonebooth.CodeOf(err) != "report_conflict" {
				t.Errorf("%s after done: %v, want report_conflict", outcome, err)
			}
		}
		if got := sys.Task(t, task.ID); got.Status != "done" {
			t.Errorf("the task is %s, want done", got.Status)
		}
	})
}

func TestS8_5_DoneStaysDoneAndFailedBecomesCancelled(t *testing.T) {
	for outcome, want := range map[string]string{"done": "done", "failed": "cancelled"} {
		t.Run(outcome, func(t *testing.T) {
			servertest.Each(t, func(t *testing.T, sys *servertest.System) {
				host := sys.Host(t, "h1", servertest.Phone("p1"))
				task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
				a := host.ClaimOne(t)
				sys.Cancel(t, task.ID)
				host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: outcome})
				if got := sys.Task(t, task.ID); got.Status != want {
					t.Errorf("the task is %s, want %s", got.Status, want)
				}
				if got := sys.Attempts(t, task.ID)[0]; got.Reported != outcome {
					t.Errorf("reported %s, want %s", got.Reported, outcome)
				}
			})
		})
	}
}

func TestC49_AnOlderInventoryDoesNotUndoANewerReport(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		older := host.NextSeq()
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Condition: "cleaning"})
		host.InventoryAs(t, older)
		if d := sys.Device(t, host.DeviceID("p1")); d.Condition != "cleaning" {
			t.Errorf("the device is %s, want cleaning", d.Condition)
		}
		host.MustInventory(t)
		if d := sys.Device(t, host.DeviceID("p1")); d.Condition != "ready" {
			t.Errorf("the device is %s, want ready", d.Condition)
		}
	})
}
