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

func TestC38_EachLogOfAnAttemptCountsForItself(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		names := []string{v1.LogRunner, v1.LogDevice, v1.LogEvents}
		for _, name := range names {
			for _, chunk := range []struct {
				offset int64
				text   string
			}{{0, name}, {0, name}, {2, name[2:] + " more"}} {
				if _, err := host.AppendLogOf(t, a.LeaseID, name, chunk.offset, chunk.text); err != nil {
					t.Errorf("append to %s at %d: %v", name, chunk.offset, err)
				}
			}
			if _, err := host.AppendLogOf(t, a.LeaseID, name, 99, "x"); phonebooth.CodeOf(err) != "log_gap" {
				t.Errorf("a gap in %s: %v", name, err)
			}
		}
		for _, name := range names {
			if got := sys.LogOf(t, task.ID, 1, name); got != name+" more" {
				t.Errorf("log %s is %q", name, got)
			}
		}
		if got := sys.Log(t, task.ID); got != "runner more" {
			t.Errorf("the log without a name is %q, want the runner's", got)
		}
		if status, p := sys.Raw(t, "GET", v1.PathTasks+"/"+task.ID+"/log?name=other", ""); status != 422 || p.Code != "invalid" {
			t.Errorf("an unknown name: %d %s", status, p.Code)
		}
		if _, err := host.AppendLogOf(t, a.LeaseID, "other", 0, "x"); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("append to an unknown name: %v", err)
		}
	})
}
