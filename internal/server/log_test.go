package server_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestC38_ALogIsStoredOnceAndInOrder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		appends := func(offset int64, text string, next int64) {
			t.Helper()
			if got, err := host.AppendLog(t, a.LeaseID, offset, text); err != nil || got != next {
				t.Errorf("append at %d: next %d, %v; want %d", offset, got, err, next)
			}
		}
		appends(0, "one ", 4)
		appends(0, "one ", 4)
		appends(2, "e two ", 8)
		_, err := host.AppendLog(t, a.LeaseID, 9, "four")
		if e, ok := err.(*phonebooth.Error); !ok || e.Code != "log_gap" || e.Detail["next"] != "8" {
			t.Errorf("append behind a gap: %v, want log_gap with next 8", err)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		appends(8, "three", 13) // it may arrive behind the report
		if got := sys.Log(t, task.ID); got != "one two three" {
			t.Errorf("the log is %q", got)
		}
	})
}
