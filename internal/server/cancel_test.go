package server_test

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestS9_1_S9_2_CancelFromEveryStatus(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		queued := sys.Submit(t, v1.TaskRequest{Goal: "queued"})
		if got := sys.Cancel(t, queued.ID); got.Status != "cancelled" || got.FinishedAt == nil {
			t.Errorf("cancel of a queued task: %+v, want cancelled at once", got)
		}
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		if got := sys.Cancel(t, task.ID); got.Status != "dispatched" || !got.CancelRequested {
			t.Errorf("cancel of a dispatched task: %+v, want the request recorded", got)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "cancelled"})
		if got := sys.Task(t, task.ID); got.Status != "cancelled" {
			t.Errorf("the task is %s, want cancelled", got.Status)
		}
	})
}

func TestS9_2_S10_3_C23_ACancellationSurvivesARestart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.Cancel(t, task.ID)
		sys.Restart(t)
		if r := host.MustRenew(t, a.LeaseID); !r[0].CancelRequested || r[0].Lost != "" {
			t.Errorf("the first renewal after the restart says %+v, want the cancellation", r)
		}
	})
}

func TestS9_3_NothingIsAcceptedAfterCancelled(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "cancelled"})
		if r := host.MustRenew(t, a.LeaseID); r[0].Lost == "" {
			t.Errorf("renewal %+v, want lost", r)
		}
		if as := host.MustClaim(t, "claim-after", 1, 0); len(as) != 0 {
			t.Errorf("claimed %+v, want nothing", as)
		}
		other := sys.Submit(t, v1.TaskRequest{Goal: "other", Constraints: v1.Constraints{Tags: []string{"nobody"}}})
		sys.Cancel(t, other.ID)
		late := servertest.Phone("p2")
		late.Tags = []string{"nobody"}
		sys.Host(t, "h2", late)
		sys.Settle(t)
		for _, id := range []string{task.ID, other.ID} {
			if got := sys.Task(t, id); got.Status != "cancelled" {
				t.Errorf("the task is %s, want cancelled", got.Status)
			}
		}
	})
}

func TestS9_4_CancellingTwiceIsOnceAndAfterAnotherEndAConflict(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		queued := sys.Submit(t, v1.TaskRequest{Goal: "queued"})
		for range 3 {
			if got := sys.Cancel(t, queued.ID); got.Status != "cancelled" {
				t.Errorf("the task is %s, want cancelled", got.Status)
			}
		}
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		sys.Cancel(t, task.ID)
		sys.Cancel(t, task.ID)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		_, err := sys.TryCancel(t, task.ID)
		if e, ok := err.(*phonebooth.Error); !ok || e.Code != "task_ended" || e.Detail["status"] != "done" {
			t.Errorf("cancel after done: %v, want task_ended saying done", err)
		}
	})
}

func TestS10_1_S10_2_C25_RenewalMovesTheExpiryAndCancelNever(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		before := sys.Task(t, task.ID).LeaseExpiresAt
		if r := host.MustRenew(t, a.LeaseID); r[0].CancelRequested || r[0].FenceMS <= 0 {
			t.Errorf("renewal %+v, want an extension without cancellation", r)
		}
		renewed := sys.Task(t, task.ID).LeaseExpiresAt
		if !renewed.After(*before) {
			t.Errorf("expiry went from %v to %v, want forward", before, renewed)
		}
		sys.Cancel(t, task.ID)
		if after := sys.Task(t, task.ID).LeaseExpiresAt; !after.Equal(*renewed) {
			t.Errorf("cancel moved the expiry from %v to %v", renewed, after)
		}
		r := host.MustRenew(t, a.LeaseID)
		if last := sys.Task(t, task.ID).LeaseExpiresAt; !r[0].CancelRequested || !last.After(*renewed) {
			t.Errorf("renewal with a cancellation: %+v, expiry %v, want both told and extended", r, last)
		}
	})
}

func TestS10_4_EndedLeasesAreLost(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		if r := host.MustRenew(t, a.LeaseID); r[0].Lost != "ended" {
			t.Errorf("renewal %+v, want lost: ended", r)
		}
	})
}

func TestS10_5_AnUnclaimedAttemptIsNeitherRenewedNorReported(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		lease := sys.LeaseOf(t, task.ID, 1)
		if r := host.MustRenew(t, lease); r[0].Lost != "not_claimed" {
			t.Errorf("renewal %+v, want not_claimed", r)
		}
		if _, err := host.Report(t, v1.ReportRequest{LeaseID: lease, Outcome: "done"}); phonebooth.CodeOf(err) != "not_claimed" {
			t.Errorf("report: %v, want not_claimed", err)
		}
		if got := sys.Task(t, task.ID); got.Status != "assigned" {
			t.Errorf("the task is %s, want assigned", got.Status)
		}
	})
}

func TestACancellationHurriesTheHostThatWaitsForWork(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		host.ClaimOne(t)
		answers := make(chan v1.ClaimAnswer, 1)
		go func() { answers <- host.Park(t, 20*time.Second) }()
		sys.Cancel(t, task.ID)
		select {
		case answer := <-answers:
			if !answer.Renew || len(answer.Assignments) != 0 {
				t.Errorf("the waiting claim got %+v, want to be told to renew", answer)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("the waiting claim was not answered")
		}
	})
}
