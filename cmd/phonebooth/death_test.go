//go:build linux

package main_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// shortLease is for tests that wait for a lease to run out. All of the protocol's other times are then a fifth of production's.
const shortLease = "6s"

func TestDone5_C07_AStoppedAgentsRunnerIsDeadBeforeItsLeaseIsSwept(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	first := p.agent(t, "h1", 1)
	id := p.submit(t, by("second"))
	p.waitRunning(t, id, 1)
	second := p.agent(t, "h2", 1)

	first.signal(t, syscall.SIGSTOP)
	dead := b.waitDead(t, id, 1)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 2 || task.HostID != second.id {
		t.Errorf("done in attempt %d on %s, want 2 on the other host, %s", task.Attempt, task.HostID, second.id)
	}
	swept := p.attempts(t, id)[0]
	if swept.Ending != "expired" || swept.EndedAt == nil || !dead.Before(*swept.EndedAt) {
		t.Errorf("attempt 1 ended as %q at %v, its runner was dead at %v; want it expired after that", swept.Ending, swept.EndedAt, dead)
	}

	first.signal(t, syscall.SIGCONT)
	eventually(t, "the late report", func() bool { return p.attempts(t, id)[0].LateReport != nil })
	late := p.typedAttempts(t, id)[0]
	if late.Ending != "expired" || late.LateReport.Outcome != "abandoned" || late.LateReport.Code != "fenced" {
		t.Errorf("attempt 1 is %+v with the late report %+v, want it expired, and a give-back as fenced kept", late, late.LateReport)
	}
	p.waitDevices(t, 2)
}

func TestC05_ASilentRunnerKeepsItsDeviceForLongerThanALease(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	p.agent(t, "h1", 1)
	silent := p.submit(t, sim("sleep 15"))
	p.waitStatus(t, silent, "dispatched")
	waiting := p.submit(t, sim("print next"))
	next := p.waitStatus(t, waiting, "done")
	ended := p.task(t, silent)
	if ended.Status != "done" || ended.Attempt != 1 {
		t.Errorf("the silent task is %s in attempt %d, want done in attempt 1", ended.Status, ended.Attempt)
	}
	if next.Attempt != 1 || next.AssignedAt.Before(*ended.FinishedAt) {
		t.Errorf("the device was offered at %v in attempt %d, the silent task ended at %v", next.AssignedAt, next.Attempt, ended.FinishedAt)
	}
}

func TestC06_AKilledAgentComesBackGivesBackAndAsksForWork(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	h := p.agent(t, "h1", 1)
	id := p.submit(t, by("second"))
	p.waitRunning(t, id, 1)
	h.kill()
	b.waitDead(t, id, 1)
	if task := p.task(t, id); task.Status != "dispatched" || task.Attempt != 1 {
		t.Errorf("the task is %s in attempt %d while its agent is gone, want it dispatched in attempt 1", task.Status, task.Attempt)
	}
	h.restart(t, p)
	task := p.waitStatus(t, id, "done")
	attempts := p.typedAttempts(t, id)
	if task.Attempt != 2 || attempts[0].Ending != "abandoned" || attempts[0].Reason == nil || attempts[0].Reason.Code != "agent_restarted" {
		t.Errorf("attempts %+v, want the first one given back as agent_restarted and the second one done", attempts)
	}
	got := kindsOf(p.events(t, client.EventQuery{HostID: h.id}), phonebooth.HostStarted, phonebooth.TaskRequeued, phonebooth.HostListening)
	if want := []string{"host.started", "host.listening", "host.started", "task.requeued", "host.listening"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q: it asks for work after it gave back", got, want)
	}
}

// kindsOf lists the events of the given kinds, in order.
func kindsOf(events []v1.Event, kinds ...phonebooth.EventKind) (list []string) {
	for _, e := range events {
		if slices.Contains(kinds, phonebooth.EventKind(e.Kind)) {
			list = append(list, e.Kind)
		}
	}
	return list
}

func TestC22_ACancelledTaskOfADeadHostEndsWithItsLease(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	h := p.agent(t, "h1", 1)
	id := p.submit(t, sim("hang"))
	p.waitRunning(t, id, 1)
	h.kill()
	b.run(t, "task", "cancel", id)
	asked := p.task(t, id)
	if asked.Status != "dispatched" || !asked.CancelRequested {
		t.Errorf("the task is %s with cancel_requested %v, want it recorded only", asked.Status, asked.CancelRequested)
	}
	ended := p.waitStatus(t, id, "cancelled")
	if ended.Attempt != 1 || ended.MaxAttempts < 2 {
		t.Errorf("cancelled in attempt %d of %d, want the first of several", ended.Attempt, ended.MaxAttempts)
	}
	if ended.FinishedAt.Before(*asked.LeaseExpiresAt) {
		t.Errorf("C25: it ended at %v, its lease ran until %v", ended.FinishedAt, asked.LeaseExpiresAt)
	}
}

func TestAnAgentThatIsToldToStopGivesItsTaskToAnotherHost(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	first := p.agent(t, "h1", 1)
	id := p.submit(t, by("second"))
	p.waitRunning(t, id, 1)
	second := p.agent(t, "h2", 1)
	p.waitDevices(t, 1)
	first.signal(t, syscall.SIGTERM)
	if code := first.exit(t); code != 0 {
		t.Errorf("the agent exits %d, want 0", code)
	}
	task := p.waitStatus(t, id, "done")
	attempts := p.attempts(t, id)
	if task.Attempt != 2 || task.HostID != second.id || attempts[0].Reason == nil || attempts[0].Reason.Code != "agent_stopping" {
		t.Errorf("attempts %+v, want the first one given back as agent_stopping and the second one done on %s", attempts, second.id)
	}
}

func TestAHostWhoseAgentWasStoppedGetsNoTask(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	first := p.agent(t, "h1", 1)
	p.waitDevices(t, 1)
	first.signal(t, syscall.SIGTERM)
	if code := first.exit(t); code != 0 {
		t.Errorf("the agent exits %d, want 0", code)
	}
	id := p.submit(t, sim("print over"))
	second := p.agent(t, "h2", 1)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 1 || task.HostID != second.id {
		t.Errorf("done in attempt %d on %s, want attempt 1 on %s: the first host has said that it stops", task.Attempt, task.HostID, second.id)
	}
}
