package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Cancel ends a queued task at once, and records a request on the current attempt of an active one (S9.2): the host is told
// at its next claim or renewal. It never moves a lease's expiry (C25). Twice is once, also after it took effect; a task that
// ended otherwise is a conflict that says how (S9.4).
func Cancel(t phonebooth.Task, now time.Time) (Change, error) {
	var c Change
	switch {
	case t.Status == phonebooth.Queued:
		c.finishTask(t, phonebooth.Cancelled, onRequest(phonebooth.Failure{Message: "it was queued"}), now)
	case t.Status == phonebooth.Cancelled, t.CancelRequested():
	case t.Status.Terminal():
		return c, phonebooth.Errorf(phonebooth.Conflict, "task_ended",
			"the task has already ended as %s; it cannot be cancelled", t.Status).With("status", string(t.Status))
	default:
		t.CancelRequestedAt = now
		c.task(t)
		c.taskEvent(phonebooth.TaskCancelRequested, t, phonebooth.EventDetail{})
	}
	return c, nil
}

// onRequest is the failure of a cancelled task; why is what ended its attempt.
func onRequest(why phonebooth.Failure) phonebooth.Failure {
	f := phonebooth.Failure{Code: "cancelled", Message: "cancelled on request"}
	if why.Message != "" && why.Message != f.Message {
		f.Message += "; " + why.Message
	}
	return f
}
