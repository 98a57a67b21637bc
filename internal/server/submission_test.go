package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS1_1_SubmitGivesAnIDWithoutWaitingForADevice(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		task := sys.Submit(t, v1.TaskRequest{Goal: "open Settings", Constraints: v1.Constraints{DriverType: "android", Tags: []string{"b", "a", "b"}}})
		if task.ID == "" || task.Status != "queued" || task.Attempt != 0 || task.CreatedAt.IsZero() {
			t.Errorf("got %+v, want a queued task with an id", task)
		}
		if got := fmt.Sprint(task.Constraints.Tags); got != "[a b]" {
			t.Errorf("tags %s, want [a b]", got)
		}
		other := sys.Submit(t, v1.TaskRequest{Goal: "open Settings"})
		if other.ID == task.ID {
			t.Errorf("two tasks have the id %s", task.ID)
		}
	})
}

func TestS1_1_AWorkflowIsSubmittedByReference(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		sys.ApplyWorkflow(t, "smoke", "version: steps/v1\nname: smoke\nsteps:\n  - open Settings\n")
		sys.ApplyWorkflow(t, "smoke", "version: steps/v1\nname: smoke\nsteps:\n  - open Settings\n  - go home\n")
		task := sys.Submit(t, v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "smoke"}})
		if task.Workflow == nil || task.Workflow.Version != 2 {
			t.Fatalf("workflow %+v, want version 2, the newest", task.Workflow)
		}
		old := sys.Submit(t, v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "smoke", Version: 1}})
		if old.Workflow.Version != 1 {
			t.Errorf("workflow %+v, want version 1, as asked", old.Workflow)
		}
	})
}

func TestS1_2_QueueDepthIsExactUnderConcurrentSubmitters(t *testing.T) {
	servertest.EachWith(t, servertest.Options{MaxQueueDepth: 10}, func(t *testing.T, sys *servertest.System) {
		var mu sync.Mutex
		var accepted int
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				_, err := sys.TrySubmit(t, v1.TaskRequest{Goal: "x"})
				mu.Lock()
				defer mu.Unlock()
				var refusal *phonebooth.Error
				switch {
				case err == nil:
					accepted++
				case !errors.As(err, &refusal) || refusal.Code != "queue_full" || refusal.Detail["limit"] != "10" || !strings.Contains(refusal.Message, "10"):
					t.Errorf("refused with %v, want queue_full naming the limit", err)
				}
			})
		}
		wg.Wait()
		if accepted != 10 {
			t.Errorf("%d accepted, want 10", accepted)
		}
	})
}

func TestS1_2_ARequeuedAttemptIsNeverRefused(t *testing.T) {
	servertest.EachWith(t, servertest.Options{MaxQueueDepth: 1}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		first := sys.Submit(t, v1.TaskRequest{Goal: "first"})
		a := host.ClaimOne(t)
		sys.Submit(t, v1.TaskRequest{Goal: "second", Constraints: v1.Constraints{Tags: []string{"nobody"}}})
		if _, err := sys.TrySubmit(t, v1.TaskRequest{Goal: "third"}); phonebooth.CodeOf(err) != "queue_full" {
			t.Fatalf("third submission: %v, want queue_full", err)
		}
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "try_again"})
		sys.WaitTask(t, first.ID, func(task v1.Task) bool { return task.Attempt == 2 })
	})
}

func TestS1_3_TheIDIsPolledAlsoAfterTheEnd(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Result: []byte(`{"summary":"ok"}`)})
		for range 2 {
			got := sys.Task(t, task.ID)
			if got.Status != "done" || string(got.Result) != `{"summary":"ok"}` || got.FinishedAt == nil {
				t.Errorf("got %+v, want done with its result", got)
			}
			sys.Restart(t)
		}
	})
}

func TestS1_4_SenselessSubmissionsAreRefusedAndStoreNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		cases := []struct {
			name, body, code string
			status           int
		}{
			{"unknown workflow", `{"workflow":{"name":"nope"}}`, "workflow_unknown", 404},
			{"empty goal", `{"goal":""}`, "invalid", 422},
			{"blank goal", `{"goal":"  "}`, "invalid", 422},
			{"neither", `{}`, "invalid", 422},
			{"both", `{"goal":"x","workflow":{"name":"nope"}}`, "invalid", 422},
			{"unknown field", `{"goal":"x","golas":1}`, "invalid", 422},
			{"unknown constraint key (C15)", `{"goal":"x","constraints":{"driver":"android"}}`, "invalid", 422},
			{"not JSON", `{"goal":`, "malformed", 400},
			{"NUL byte", `{"goal":"a\u0000b"}`, "invalid", 422},
			{"bad UTF-8", "{\"goal\":\"a\xff\"}", "malformed", 400},
			{"priority", `{"goal":"x","priority":11}`, "invalid", 422},
			{"timeout", `{"goal":"x","timeout_s":86401}`, "invalid", 422},
			{"negative timeout", `{"goal":"x","timeout_s":-1}`, "invalid", 422},
			{"attempts", `{"goal":"x","max_attempts":11}`, "invalid", 422},
			{"goal too long", `{"goal":"` + strings.Repeat("x", 100<<10+1) + `"}`, "invalid", 422},
			{"body too large", `{"goal":"` + strings.Repeat("x", 2<<20) + `"}`, "too_large", 413},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				status, problem := sys.Raw(t, "POST", "/v1/tasks", c.body)
				if status != c.status || problem.Code != c.code || problem.Detail == "" {
					t.Errorf("got %d %+v, want %d %s with a detail", status, problem, c.status, c.code)
				}
			})
		}
		if tasks := sys.Tasks(t); len(tasks) != 0 {
			t.Errorf("%d tasks are stored, want none", len(tasks))
		}
	})
}

func TestS1_5_QueueTimeout(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", QueueTimeoutS: 1})
		got := sys.WaitTask(t, task.ID, func(task v1.Task) bool { return task.Status == "failed" })
		if got.Failure == nil || got.Failure.Code != "queue_timeout" {
			t.Errorf("failure %+v, want queue_timeout", got.Failure)
		}
	})
}

func TestC17_TheSameKeyTwiceAtOnceIsOneTask(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			wg.Go(func() {
				task, err := sys.SubmitKey(t, "the-key", v1.TaskRequest{Goal: "x"})
				if err != nil {
					t.Errorf("submit: %v", err)
				}
				ids[i] = task.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				t.Errorf("ids %v, want one", ids)
			}
		}
		if _, err := sys.SubmitKey(t, "the-key", v1.TaskRequest{Goal: "y"}); phonebooth.CodeOf(err) != "idempotency_key_reused" {
			t.Errorf("another body under the key: %v, want idempotency_key_reused", err)
		}
		if n := len(sys.Tasks(t)); n != 1 {
			t.Errorf("%d tasks, want 1", n)
		}
	})
}
