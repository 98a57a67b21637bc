package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS9_1_CancelledIsReachedFromEveryOpenStatus(t *testing.T) {
	t.Parallel()
	queued, err := Cancel(taskIn(phonebooth.Queued), after(1))
	if err != nil || queued.Tasks[0].Status != phonebooth.Cancelled {
		t.Errorf("queued: got %+v, %v", queued.Tasks, err)
	}
	assigned, err := Expire(cancelling(assignedLive()), policy, after(15))
	if err != nil || assigned.Tasks[0].Status != phonebooth.Cancelled {
		t.Errorf("assigned: got %+v, %v", assigned.Tasks, err)
	}
	dispatched, _ := finish(t, cancelling(dispatchedLive()), report(phonebooth.OutcomeCancelled), DeviceWord{})
	if dispatched.Tasks[0].Status != phonebooth.Cancelled {
		t.Errorf("dispatched: got %+v", dispatched.Tasks)
	}
}

func TestS9_2_CancelEndsAQueuedTaskAndAsksAnActiveOne(t *testing.T) {
	t.Parallel()
	c, err := Cancel(taskIn(phonebooth.Queued), after(1))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Tasks[0]; got.Status != phonebooth.Cancelled || !got.FinishedAt.Equal(after(1)) || got.Failure.Code != "cancelled" {
		t.Errorf("queued: got %+v, want it ended at once", got)
	}
	for _, status := range []phonebooth.Status{phonebooth.Assigned, phonebooth.Dispatched} {
		c, err := Cancel(taskIn(status), after(1))
		if err != nil {
			t.Fatal(err)
		}
		want := taskIn(status)
		want.CancelRequestedAt, want.Rev = after(1), want.Rev+1
		if diff := cmp.Diff([]phonebooth.Task{want}, c.Tasks); diff != "" {
			t.Errorf("%s: -want +got:\n%s", status, diff)
		}
		if e := c.Events[0]; e.Kind != phonebooth.TaskCancelRequested || e.Attempt != 1 {
			t.Errorf("%s: got event %+v, want a request on attempt 1", status, e)
		}
	}
}

func TestS9_3_NothingIsAcceptedAfterCancelled(t *testing.T) {
	t.Parallel()
	l := endedLive()
	l.Task.Status = phonebooth.Cancelled
	_, err := Place(Placement{LeaseID: "lease_2"}, l.Host, l.Device, nil, l.Task, policy, after(40))
	wantCode(t, err, "task_not_queued")
	_, err = Claim(l, hostA, "claim-2", 1, policy, after(40))
	wantCode(t, err, "lease_lost")
	if c, r, err := Renew(l, hostA, policy, after(20)); err != nil || r.Lost == "" || !c.Empty() {
		t.Errorf("renew: got %+v, %+v, %v; want the lease lost", c, r, err)
	}
}

func TestS9_4_CancelTwiceIsOnce(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]phonebooth.Task{
		"asked while assigned":   cancelling(assignedLive()).Task,
		"asked while dispatched": cancelling(dispatchedLive()).Task,
		"took effect":            taskIn(phonebooth.Cancelled),
	} {
		c, err := Cancel(task, after(9))
		if err != nil || !c.Empty() {
			t.Errorf("%s: got %+v, %v; want nothing", name, c, err)
		}
	}
}

func TestS9_4_CancelOfAnEndedTaskSaysHowItEnded(t *testing.T) {
	t.Parallel()
	doneAnyway := taskIn(phonebooth.Done)
	doneAnyway.CancelRequestedAt = after(-1)
	for _, task := range []phonebooth.Task{taskIn(phonebooth.Done), taskIn(phonebooth.Failed), doneAnyway} {
		c, err := Cancel(task, after(9))
		wantCode(t, err, "task_ended")
		wantEmpty(t, c)
		if refusal, _ := errors.AsType[*phonebooth.Error](err); refusal.Detail["status"] != string(task.Status) {
			t.Errorf("got detail %v, want status %s", refusal.Detail, task.Status)
		}
	}
}

func TestC25_CancelNeverMovesAnExpiry(t *testing.T) {
	t.Parallel()
	for _, l := range []Live{assignedLive(), dispatchedLive()} {
		c, err := Cancel(l.Task, after(14))
		if err != nil || len(c.Attempts) != 0 {
			t.Errorf("got attempts %+v, %v; want none touched", c.Attempts, err)
		}
		l.Task = c.Tasks[0]
		due := l.Attempt.ExpiresAt
		if l.Attempt.State == phonebooth.AttemptDispatched {
			due = due.Add(policy.Grace)
		}
		if _, err := Expire(l, policy, due.Add(-time.Microsecond)); phonebooth.CodeOf(err) != "not_due" {
			t.Errorf("%s: a moment before its time: got %v, want not_due", l.Task.Status, err)
		}
		if _, err := Expire(l, policy, due); err != nil {
			t.Errorf("%s: at its time: got %v", l.Task.Status, err)
		}
	}
}

// A cancellation comes before, between or after assignment, claim and end, under each ending.
func TestC21_CancelAtEveryPoint(t *testing.T) {
	t.Parallel()
	outcomes := []phonebooth.Outcome{phonebooth.OutcomeDone, phonebooth.OutcomeFailed, phonebooth.OutcomeCancelled, phonebooth.OutcomeAbandoned}
	for _, outcome := range outcomes {
		for point := range 4 {
			db := newDatabase()
			l := dispatchedLive()
			key := l.Attempt.AttemptKey
			steps := []func() (Change, error){
				func() (Change, error) {
					return Place(Placement{LeaseID: "lease_1"}, l.Host, l.Device, db.reservation(l.Device.ID), db.tasks["task_1"], policy, after(1))
				},
				func() (Change, error) { return Claim(db.live(key), hostA, "claim-1", 1, policy, after(2)) },
				func() (Change, error) {
					c, _, err := Finish(db.live(key), hostA, 1, report(outcome), DeviceWord{}, policy, after(3))
					return c, err
				},
			}
			steps = append(steps[:point:point], append([]func() (Change, error){
				func() (Change, error) { return Cancel(db.tasks["task_1"], after(1.5)) },
			}, steps[point:]...)...)
			start := Change{Hosts: []phonebooth.Host{l.Host}, Devices: []phonebooth.Device{l.Device}, Tasks: []phonebooth.Task{taskIn(phonebooth.Queued)}}
			if err := db.apply(start); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps {
				if c, err := step(); err == nil {
					if err := db.apply(c); err != nil {
						t.Fatalf("%s, cancelled at %d: %v", outcome, point, err)
					}
				}
			}
			want := phonebooth.Cancelled
			if point > 0 && outcome == phonebooth.OutcomeDone {
				want = phonebooth.Done
			}
			if point == 3 && outcome == phonebooth.OutcomeFailed {
				want = phonebooth.Failed
			}
			if got := db.tasks["task_1"].Status; got != want || len(db.reservations) != 0 {
				t.Errorf("%s, cancelled at %d: got %s with %d reservations, want %s with none", outcome, point, got, len(db.reservations), want)
			}
		}
	}
}
