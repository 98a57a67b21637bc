package server_test

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

func TestC46_TheDatabaseIsAwayForTenSeconds(t *testing.T) {
	t.Parallel()
	database := postgrestest.New(t)
	sys := servertest.Start(t, servertest.Options{}, database.DSN())
	now, later := servertest.Phone("p1"), servertest.Phone("p2")
	now.Tags = []string{"now"}
	host := sys.Host(t, "h1", now, later)
	running := sys.Submit(t, v1.TaskRequest{Goal: "running", Constraints: v1.Constraints{Tags: now.Tags}})
	a := host.ClaimOne(t)
	waiting := sys.Submit(t, v1.TaskRequest{Goal: "waiting", Constraints: v1.Constraints{Tags: []string{"later"}}})
	sys.Settle(t)

	database.Stop()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(500 * time.Millisecond) {
		for path, call := range map[string][2]string{
			"/readyz":                 {"GET", ""},
			"/v1/tasks":               {"POST", `{"goal":"x"}`},
			"/v1/tasks/" + waiting.ID: {"GET", ""},
			"/v1/devices":             {"GET", ""},
		} {
			if status, p := sys.Raw(t, call[0], path, call[1]); status != 503 || p.Code != "store_unavailable" {
				t.Fatalf("%s %s: %d %+v, want 503", call[0], path, status, p)
			}
		}
		if status, _ := sys.Raw(t, "GET", "/healthz", ""); status != 204 {
			t.Errorf("health is %d, want 204: the process lives", status)
		}
		if _, err := host.Renew(t, a.LeaseID); phonebooth.CodeOf(err) != "store_unavailable" {
			t.Fatalf("renewal: %v, want store_unavailable", err)
		}
	}
	database.Restart()

	servertest.Wait(t, "readiness", func() bool {
		status, _ := sys.Raw(t, "GET", "/readyz", "")
		return status == 204
	})
	if r := host.MustRenew(t, a.LeaseID); r[0].Lost != "" {
		t.Errorf("the lease is lost: %+v", r)
	}
	later.Tags = []string{"later"}
	host.SetDevices(now, later)
	host.MustInventory(t)
	b := host.ClaimOne(t)
	if b.Task.ID != waiting.ID {
		t.Errorf("claimed %s, want the task that waited", b.Task.ID)
	}
	for _, lease := range []string{a.LeaseID, b.LeaseID} {
		host.MustReport(t, v1.ReportRequest{LeaseID: lease, Outcome: "done"})
	}
	for _, id := range []string{running.ID, waiting.ID} {
		if got := sys.Task(t, id); got.Status != "done" || got.Attempt != 1 {
			t.Errorf("the task is %s at attempt %d, want done at the first", got.Status, got.Attempt)
		}
	}
}
