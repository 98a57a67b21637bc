//go:build linux

package main_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestC08_AKilledControlPlaneLosesNoLeaseAndBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	var phones []v1.Sighting
	for i := range 50 {
		phones = append(phones, servertest.Phone(fmt.Sprintf("p%02d", i)))
	}
	host := servertest.At(p.address, p.token).Host(t, "h1", phones...)
	var tasks []string
	for range phones {
		tasks = append(tasks, p.submit(t, v1.TaskRequest{Goal: "x"}))
	}
	var newest time.Time
	for _, id := range tasks {
		newest = *p.wait(t, id, "assigned", func(task v1.Task) bool { return task.AssignedAt != nil }).AssignedAt
	}
	var leases []string
	for _, a := range host.MustClaim(t, "claim-before", 48, 0) {
		leases = append(leases, a.LeaseID)
	}
	if len(leases) != 48 {
		t.Fatalf("claimed %d, want 48", len(leases))
	}
	// The claim windows of the other two, 15 s, end while nobody is there.
	until(newest.Add(10 * time.Second))
	mustRenew(t, host, leases)
	p.kill()
	until(newest.Add(20 * time.Second))
	p.restart(t)

	mustRenew(t, host, leases)
	late := host.MustClaim(t, "claim-after", 50, 5*time.Second)
	if len(late) != 2 {
		t.Fatalf("claimed %+v after the outage, want the two that were assigned before", late)
	}
	for _, a := range late {
		leases = append(leases, a.LeaseID)
		if a.Attempt != 1 {
			t.Errorf("task %s is claimed in attempt %d, want 1", a.Task.ID, a.Attempt)
		}
	}
	mustRenew(t, host, leases)
	for _, lease := range leases {
		host.MustReport(t, v1.ReportRequest{LeaseID: lease, Outcome: "done"})
	}
	for _, id := range tasks {
		if task := p.task(t, id); task.Status != "done" || task.Attempt != 1 {
			t.Errorf("task %s is %s in attempt %d, want done in attempt 1", id, task.Status, task.Attempt)
		}
	}
}

func mustRenew(t *testing.T, host *servertest.Host, leases []string) {
	t.Helper()
	for _, r := range host.MustRenew(t, leases...) {
		if r.Lost != "" {
			t.Errorf("lease lost: %s", r.Lost)
		}
	}
}

func TestC36_AResultIsDeliveredWhenTheControlPlaneIsBack(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	p.agent(t, "h1", 1)
	id := p.submit(t, by("gate"))
	p.waitRunning(t, id, 1)
	p.kill()
	b.openGate(t)
	b.waitDead(t, id, 1)
	p.restart(t)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 1 {
		t.Errorf("done in attempt %d, want 1", task.Attempt)
	}
	eventually(t, "the whole log", func() bool {
		return b.run(t, "task", "log", id) == "before\nafter\n"
	})
}

func TestC09_ALongOutageFencesWhatRunsAndKeepsWhatHadEnded(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	p.agent(t, "h1", 2)
	p.waitDevices(t, 2)
	short, long := p.submit(t, by("gate")), p.submit(t, sim("ignore-signals; hang"))
	p.waitRunning(t, long, 1)
	p.waitRunning(t, short, 1)
	p.kill()
	away := time.Now()
	b.openGate(t)
	b.waitDead(t, short, 1)
	b.waitDead(t, long, 1)
	until(away.Add(12 * time.Second)) // 60 s under a lease of 30 s
	p.restart(t)
	if task := p.waitStatus(t, short, "done"); task.Attempt != 1 {
		t.Errorf("what had ended is done in attempt %d, want 1", task.Attempt)
	}
	p.waitRunning(t, long, 2)
	if first := p.attempts(t, long)[0]; first.Ending != "abandoned" || first.Reason == nil || first.Reason.Code != "fenced" {
		t.Errorf("attempt 1 of what ran ended as %q %+v, want it given back as fenced", first.Ending, first.Reason)
	}
	b.run(t, "task", "cancel", long)
	p.waitStatus(t, long, "cancelled")
}

func TestC23_ACancelSurvivesARestartAndTheHostIsTold(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	h := p.agent(t, "h1", 1)
	id := p.submit(t, sim("hang"))
	p.waitRunning(t, id, 1)
	h.signal(t, syscall.SIGSTOP) // it cannot be told before the restart
	b.run(t, "task", "cancel", id)
	p.kill()
	p.restart(t)
	h.signal(t, syscall.SIGCONT)
	p.waitStatus(t, id, "cancelled")
	if a := p.attempts(t, id)[0]; a.Ending != "cancelled" || a.Reported != "cancelled" {
		t.Errorf("the attempt ended as %q, reported %q, want it cancelled by its host", a.Ending, a.Reported)
	}
}
