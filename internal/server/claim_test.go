package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestS6_1_OnlyTheOwningHostClaims(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		owner := sys.Host(t, "owner", servertest.Phone("p1"))
		other := sys.Host(t, "other")
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		if got := other.MustClaim(t, "claim-other", 1, 0); len(got) != 0 {
			t.Errorf("another host claimed %+v, want nothing", got)
		}
		a := owner.ClaimOne(t)
		if a.Task.ID != task.ID || a.Task.Goal != "x" || a.LeaseID == "" || a.DeviceKey != "p1" || a.FenceMS <= 0 || a.FenceMS >= a.LeaseMS {
			t.Errorf("claimed %+v, want the task with its lease", a)
		}
		if got := sys.Task(t, task.ID); got.Status != "dispatched" || got.DispatchedAt == nil {
			t.Errorf("the task is %+v, want dispatched", got)
		}
	})
}

func TestS6_2_ConcurrentClaims(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		var mu sync.Mutex
		var got []v1.Assignment
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				as := host.MustClaim(t, fmt.Sprintf("claim-%03d", i), 1, 0)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, as...)
			})
		}
		wg.Wait()
		if len(got) != 1 {
			t.Fatalf("%d requests got the attempt, want 1", len(got))
		}
	})
}

func TestS6_2_ARepeatedClaimIsTheSameRequest(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"), servertest.Phone("p2"))
		sys.Submit(t, v1.TaskRequest{Goal: "x"})
		first := host.ClaimOneAs(t, "claim-one")
		again := host.MustClaim(t, "claim-one", 1, 0)
		if len(again) != 1 || again[0].LeaseID != first.LeaseID || again[0].LeaseMS > first.LeaseMS {
			t.Errorf("the repeat got %+v, want the same lease with what is left of it", again)
		}
		second := sys.Submit(t, v1.TaskRequest{Goal: "y"})
		sys.WaitTask(t, second.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		if again = host.MustClaim(t, "claim-one", 2, 0); len(again) != 1 || again[0].LeaseID != first.LeaseID {
			t.Errorf("the repeat got %+v, want the first lease and never more", again)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: first.LeaseID, Outcome: "done"})
		if again = host.MustClaim(t, "claim-one", 2, 0); len(again) != 0 {
			t.Errorf("the repeat got %+v after the end, want nothing", again)
		}
	})
}

func TestS6_3_AnExpiredAssignmentCannotBeClaimed(t *testing.T) {
	servertest.EachWith(t, servertest.Options{TTL: servertest.ShortTTL}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
		got := sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "failed" })
		if got.Failure.Code != "lease_expired" {
			t.Errorf("failure %+v, want lease_expired", got.Failure)
		}
		if as := host.MustClaim(t, "claim-late", 1, 0); len(as) != 0 {
			t.Errorf("claimed %+v, want nothing", as)
		}
		if got := sys.Task(t, task.ID); got.Status != "failed" {
			t.Errorf("the task is %s after a late claim, want failed", got.Status)
		}
	})
}

func TestS6_3_AnotherHostsTokenIsRefusedAndChangesNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		owner := sys.Host(t, "owner", servertest.Phone("p1"))
		other := sys.Host(t, "other")
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := owner.ClaimOne(t)
		if r := other.MustRenew(t, a.LeaseID); r[0].Lost != "unknown" {
			t.Errorf("renewal by another host: %+v, want unknown", r)
		}
		if _, err := other.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"}); phonebooth.CodeOf(err) != "lease_unknown" {
			t.Errorf("report by another host: %v, want lease_unknown", err)
		}
		if _, err := other.AppendLog(t, a.LeaseID, 0, "x"); phonebooth.CodeOf(err) != "lease_unknown" {
			t.Errorf("log by another host: %v, want lease_unknown", err)
		}
		if status, p := sys.RawAs(t, "no-such-token", "POST", "/v1/agent/claims", `{"incarnation":1,"claim_id":"claim-bad","max":1,"wait_ms":0}`); status != 401 || p.Code != "unauthenticated" {
			t.Errorf("claim with a wrong token: %d %s, want 401 unauthenticated", status, p.Code)
		}
		if got := sys.Task(t, task.ID); got.Status != "dispatched" {
			t.Errorf("the task is %s, want dispatched", got.Status)
		}
	})
}

func TestS6_4_AClaimSaysThatACancellationIsPending(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "assigned" })
		if got := sys.Cancel(t, task.ID); got.Status != "assigned" || !got.CancelRequested {
			t.Fatalf("after cancel %+v, want assigned with the request", got)
		}
		a := host.ClaimOne(t)
		if !a.CancelRequested {
			t.Errorf("the claim %+v does not tell of the cancellation", a)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "cancelled"})
		if got := sys.Task(t, task.ID); got.Status != "cancelled" {
			t.Errorf("the task is %s, want cancelled", got.Status)
		}
	})
}

func TestAParkedClaimIsAnsweredByTheAssignment(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		got := make(chan []v1.Assignment, 1)
		go func() { got <- host.MustClaim(t, "claim-park", 1, 20*time.Second) }()
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		select {
		case as := <-got:
			if len(as) != 1 || as[0].Task.ID != task.ID {
				t.Errorf("got %+v, want the task", as)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("the parked claim was not answered")
		}
	})
}

func TestANewerClaimAnswersTheOlderEmpty(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1")
		older := make(chan []v1.Assignment, 1)
		go func() { older <- host.MustClaim(t, "claim-old", 1, 20*time.Second) }()
		for deadline := time.Now().Add(15 * time.Second); ; {
			host.MustClaim(t, fmt.Sprintf("claim-new-%d", time.Now().UnixNano()), 1, 0)
			select {
			case as := <-older:
				if len(as) != 0 {
					t.Errorf("the older request got %+v, want nothing", as)
				}
				return
			default:
			}
			if time.Now().After(deadline) {
				t.Fatal("the older request is still parked")
			}
		}
	})
}
