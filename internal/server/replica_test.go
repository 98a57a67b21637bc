package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// replicas are two control planes on one database.
func replicas(t *testing.T, opts servertest.Options) (a, b *servertest.System) {
	t.Parallel()
	database := postgrestest.DSN(t)
	return servertest.Start(t, opts, database), servertest.Start(t, opts, database)
}

// Both schedulers want the same few devices for the same tasks all the time.
func TestS5_2_TwoControlPlanesNeverBindADeviceOrATaskTwice(t *testing.T) {
	a, b := replicas(t, servertest.Options{AlwaysPlan: true})
	host := a.Host(t, "h1", servertest.Phone("p1"), servertest.Phone("p2"))
	hosts := []*servertest.Host{host, host.Through(b)}
	const each = 8
	var mu sync.Mutex
	running := map[string]string{} // by device, the task that drives it
	var work sync.WaitGroup
	ids := make(chan string, 2*each)
	for i, sys := range []*servertest.System{a, b} {
		work.Go(func() {
			for range each {
				task, err := sys.TrySubmit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
				if err != nil {
					t.Errorf("submit: %v", err)
				}
				ids <- task.ID
			}
		})
		work.Go(func() {
			for n := 0; n < each && !t.Failed(); {
				got := hosts[i].MustClaim(t, fmt.Sprintf("claim-%d-%d", i, time.Now().UnixNano()), 1, 500*time.Millisecond)
				for _, as := range got {
					n++
					mu.Lock()
					if other := running[as.DeviceID]; other != "" {
						t.Errorf("device %s was given to %s under %s", as.DeviceID, as.Task.ID, other)
					}
					running[as.DeviceID] = as.Task.ID
					mu.Unlock()
					mu.Lock()
					delete(running, as.DeviceID)
					mu.Unlock()
					if _, err := hosts[i].Report(t, v1.ReportRequest{LeaseID: as.LeaseID, Outcome: "done"}); err != nil {
						t.Errorf("report: %v", err)
					}
				}
			}
		})
	}
	work.Wait()
	close(ids)
	for id := range ids {
		if got := b.Task(t, id); got.Status != "done" || got.Attempt != 1 {
			t.Errorf("task %s is %s at attempt %d, want done at the first", id, got.Status, got.Attempt)
		}
	}
}

func TestAParkedClaimFindsWhatAnotherControlPlaneAssigned(t *testing.T) {
	a, b := replicas(t, servertest.Options{})
	host := a.Host(t, "h1", servertest.Phone("p1"))
	b.WaitDevice(t, host.DeviceID("p1"), func(d v1.Device) bool { return d.Unavailable == "" })
	b.Settle(t)
	answers := make(chan v1.ClaimAnswer, 1)
	go func() { answers <- host.Park(t, 20*time.Second) }()
	task := b.Submit(t, v1.TaskRequest{Goal: "x"})
	select {
	case answer := <-answers:
		if len(answer.Assignments) != 1 || answer.Assignments[0].Task.ID != task.ID || answer.Assignments[0].Attempt != 1 {
			t.Errorf("the parked claim got %+v, want the task at its first attempt", answer)
		}
	case <-time.After(18 * time.Second):
		t.Error("the parked claim was not answered")
	}
}

func TestTheFollowerOfALeaderThatStopsGoesOn(t *testing.T) {
	a, b := replicas(t, servertest.Options{})
	host := a.Host(t, "h1", servertest.Phone("p1"))
	first := a.Submit(t, v1.TaskRequest{Goal: "x"}) // a came first, so it leads
	as := host.ClaimOne(t)
	if as.Task.ID != first.ID {
		t.Fatalf("claimed %s, want %s", as.Task.ID, first.ID)
	}
	through := host.Through(b)
	second := b.Submit(t, v1.TaskRequest{Goal: "y"})
	a.Stop()
	if _, err := through.Report(t, v1.ReportRequest{LeaseID: as.LeaseID, Outcome: "done"}); err != nil {
		t.Fatalf("report to the other one: %v", err)
	}
	if got := through.ClaimOne(t); got.Task.ID != second.ID || got.Attempt != 1 {
		t.Errorf("claimed %s at attempt %d, want %s at its first", got.Task.ID, got.Attempt, second.ID)
	}
	if got := b.Task(t, first.ID); got.Status != "done" || got.Attempt != 1 {
		t.Errorf("the first task is %s at attempt %d, want done at its first", got.Status, got.Attempt)
	}
}
