package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS1_1_SubmitStoresQueued(t *testing.T) {
	t.Parallel()
	spec := phonebooth.TaskSpec{Goal: "open Settings", MaxAttempts: 3, QueueTimeout: time.Minute}
	by := phonebooth.Submission{Subject: "alice", IdempotencyKey: "k", BodyHash: "h"}
	c, err := Submit("task_7", spec, by, 0, 10, epoch)
	if err != nil {
		t.Fatal(err)
	}
	want := Change{
		Tasks: []phonebooth.Task{{
			TaskSpec: spec, ID: "task_7", Submission: by, Rev: 1, Status: phonebooth.Queued,
			CreatedAt: epoch, QueueDeadline: after(60),
		}},
		Events: []phonebooth.Event{{Kind: phonebooth.TaskSubmitted, TaskID: "task_7", Detail: phonebooth.EventDetail{Status: phonebooth.Queued}}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestS1_2_LimitIsExactAndNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		queued int
		want   string
	}{
		{"one below the limit", 9, ""},
		{"at the limit", 10, "queue_full"},
		{"above a limit that was lowered", 12, "queue_full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Submit("task_7", phonebooth.TaskSpec{Goal: "x"}, phonebooth.Submission{}, tt.queued, 10, epoch)
			wantCode(t, err, tt.want)
			if tt.want == "" {
				return
			}
			wantEmpty(t, c)
			refusal, _ := errors.AsType[*phonebooth.Error](err)
			if refusal.Kind != phonebooth.Exhausted || refusal.Detail["limit"] != "10" {
				t.Errorf("got kind %v and detail %v, want exhausted with limit 10", refusal.Kind, refusal.Detail)
			}
		})
	}
}

// A full queue refuses submissions only: the requeue asks nobody.
func TestS1_2_RequeueIsNeverRefused(t *testing.T) {
	t.Parallel()
	c, err := Expire(dispatchedLive(), policy, after(35))
	if err != nil || c.Tasks[0].Status != phonebooth.Queued {
		t.Fatalf("got %v, %v; want the task queued again", c.Tasks, err)
	}
}

func TestS1_5_QueueTimeout(t *testing.T) {
	t.Parallel()
	waiting := func(status phonebooth.Status, deadline time.Time) phonebooth.Task {
		task := taskIn(status)
		task.QueueTimeout, task.QueueDeadline = time.Minute, deadline
		return task
	}
	for _, tt := range []struct {
		name string
		task phonebooth.Task
		due  bool
	}{
		{"still queued at the deadline", waiting(phonebooth.Queued, epoch), true},
		{"still queued after it", waiting(phonebooth.Queued, after(-5)), true},
		{"before it", waiting(phonebooth.Queued, after(0.001)), false},
		{"without one", waiting(phonebooth.Queued, time.Time{}), false},
		{"assigned in time", waiting(phonebooth.Assigned, after(-5)), false},
		{"running", waiting(phonebooth.Dispatched, after(-5)), false},
		{"ended", waiting(phonebooth.Done, after(-5)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := TimeOutInQueue(tt.task, epoch)
			if !tt.due {
				wantCode(t, err, "not_due")
				wantEmpty(t, c)
				return
			}
			wantCode(t, err, "")
			got := c.Tasks[0]
			if got.Status != phonebooth.Failed || got.Failure.Code != "queue_timeout" || !got.FinishedAt.Equal(epoch) {
				t.Errorf("got %s, %+v at %v; want failed with queue_timeout now", got.Status, got.Failure, got.FinishedAt)
			}
		})
	}
}
