package server_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// race is some tasks, hosts that run them in any way, and callers that cancel them at any moment.
type race struct {
	sys   *servertest.System
	tasks []v1.Task

	requested []atomic.Bool // by task: a cancellation was accepted
	byID      map[string]int

	mu       sync.Mutex
	reported map[string]string // the outcome of each task's newest report
	refused  map[string]string // how a task had ended when its cancellation was refused
}

func TestC21_CancelRacesWithAssignmentClaimAndCompletion(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		const tasks, hosts = 24, 3
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := &race{
			sys: sys, requested: make([]atomic.Bool, tasks), byID: map[string]int{},
			reported: map[string]string{}, refused: map[string]string{},
		}
		var machines []*servertest.Host
		for i := range hosts {
			machines = append(machines, sys.Host(t, fmt.Sprintf("h%d", i), servertest.Phone("p1"), servertest.Phone("p2")))
		}
		for i := range tasks {
			r.tasks = append(r.tasks, sys.Submit(t, v1.TaskRequest{Goal: fmt.Sprint(i)}))
			r.byID[r.tasks[i].ID] = i
		}
		over := make(chan struct{})
		var running, cancelling sync.WaitGroup
		for i, host := range machines {
			running.Go(func() { r.run(t, host, rand.New(rand.NewPCG(seed, uint64(i))), over) })
		}
		for i := range 3 {
			cancelling.Go(func() { r.cancel(t, rand.New(rand.NewPCG(seed, uint64(hosts+i)))) })
		}
		cancelling.Wait()
		for _, task := range r.tasks {
			sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.FinishedAt != nil })
		}
		close(over)
		running.Wait()
		r.check(t)
	})
}

// run claims, renews and reports at random until everything is over. A cancellation that was accepted before a call began
// must be in its answer.
func (r *race) run(t *testing.T, host *servertest.Host, dice *rand.Rand, over <-chan struct{}) {
	for n := 0; !t.Failed(); n++ {
		select {
		case <-over:
			return
		default:
		}
		before := r.snapshot()
		assignments, err := host.Claim(t, fmt.Sprintf("claim-%s-%d", host.ID, n), 1+dice.IntN(2), 100*time.Millisecond)
		if err != nil {
			t.Errorf("claim: %v", err)
			return
		}
		for _, a := range assignments {
			told := a.CancelRequested
			if before[r.byID[a.Task.ID]] && !told {
				t.Errorf("task %s was claimed without a word of its cancellation", a.Task.ID)
			}
			for range dice.IntN(3) {
				asked := r.requested[r.byID[a.Task.ID]].Load()
				renewed, err := host.Renew(t, a.LeaseID)
				if err != nil || renewed[0].Lost != "" {
					t.Errorf("renew: %+v, %v", renewed, err)
					return
				}
				if told = renewed[0].CancelRequested; asked && !told {
					t.Errorf("task %s was renewed without a word of its cancellation", a.Task.ID)
				}
			}
			r.report(t, host, a, told, dice)
		}
	}
}

func (r *race) snapshot() []bool {
	requested := make([]bool, len(r.requested))
	for i := range r.requested {
		requested[i] = r.requested[i].Load()
	}
	return requested
}

func (r *race) report(t *testing.T, host *servertest.Host, a v1.Assignment, told bool, dice *rand.Rand) {
	outcome := []string{"done", "failed", "abandoned"}[dice.IntN(3)]
	if told && dice.IntN(2) == 0 {
		outcome = "cancelled"
	}
	report := v1.ReportRequest{LeaseID: a.LeaseID, Outcome: outcome}
	if outcome == "abandoned" {
		report.Code = "agent_stopping"
	}
	if _, err := host.Report(t, report); err != nil {
		t.Errorf("report %s: %v", outcome, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported[a.Task.ID] = outcome
}

// cancel cancels about half of the tasks, in any order: at once, when a task has left the queue, or when it was claimed.
func (r *race) cancel(t *testing.T, dice *rand.Rand) {
	for _, i := range dice.Perm(len(r.tasks))[:len(r.tasks)/3] {
		id := r.tasks[i].ID
		when := dice.IntN(3)
		r.sys.WaitTask(t, id, func(task v1.Task) bool {
			return when == 0 || task.FinishedAt != nil || when == 1 && task.Status != "queued" || task.Status == "dispatched"
		})
		answer, err := r.sys.TryCancel(t, id)
		if e, ok := err.(*phonebooth.Error); ok && e.Code == "task_ended" {
			r.mu.Lock()
			r.refused[id] = e.Detail["status"]
			r.mu.Unlock()
			continue
		}
		if err != nil || answer.Status == "queued" || answer.FinishedAt == nil && !answer.CancelRequested {
			t.Errorf("cancel: %+v, %v", answer, err)
		}
		r.requested[i].Store(true)
	}
}

func (r *race) check(t *testing.T) {
	for i, task := range r.tasks {
		got := r.sys.Task(t, task.ID)
		outcome := r.reported[task.ID]
		switch requested, refused := r.requested[i].Load(), r.refused[task.ID]; {
		case requested && got.Status == "done" && outcome == "done": // S8.5
		case requested && got.Status != "cancelled":
			t.Errorf("task %s is %s (%+v) after %q, though its cancellation was accepted", task.ID, got.Status, got.Failure, outcome)
		case !requested && got.Status == "cancelled":
			t.Errorf("task %s is cancelled and nobody asked for it", task.ID)
		case refused != "" && refused != got.Status:
			t.Errorf("task %s had ended as %s when it was to be cancelled, now it is %s", task.ID, refused, got.Status)
		}
	}
	for _, d := range r.sys.Devices(t) {
		if d.TaskID != "" {
			t.Errorf("device %s is still held by %s", d.ID, d.TaskID)
		}
	}
}

func TestS8_4_OfReportsAtOnceOneOutcomeIsAccepted(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		for range 5 {
			task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
			a := host.ClaimOne(t)
			outcomes := []string{"done", "failed", "cancelled", "done", "failed", "cancelled"}
			errs := make([]error, len(outcomes))
			var reports sync.WaitGroup
			for i, outcome := range outcomes {
				reports.Go(func() { _, errs[i] = host.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: outcome}) })
			}
			reports.Wait()
			accepted := sys.Attempts(t, task.ID)[0].Reported
			for i, outcome := range outcomes {
				want := map[bool]string{true: "", false: "report_conflict"}[outcome == accepted]
				if got := phonebooth.CodeOf(errs[i]); got != want {
					t.Errorf("%s was answered %q, want %q since %s was accepted", outcome, got, want, accepted)
				}
			}
			if got := sys.Task(t, task.ID); got.Status != accepted || got.Attempt != 1 {
				t.Errorf("the task is %s at attempt %d, want %s", got.Status, got.Attempt, accepted)
			}
		}
	})
}
