package lifecycle

import (
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Submit stores a task as queued (S1.1). spec has its defaults and is valid; queued is the exact number of queued tasks,
// maxDepth how many are allowed (S1.2). A requeued attempt does not come this way, so it is never refused.
func Submit(id phonebooth.TaskID, spec phonebooth.TaskSpec, by phonebooth.Submission, queued, maxDepth int, now time.Time) (Change, error) {
	if queued >= maxDepth {
		return Change{}, phonebooth.Errorf(phonebooth.Exhausted, "queue_full",
			"the queue already holds max_queue_depth = %d queued tasks; try again when some have started", maxDepth).
			With("limit", strconv.Itoa(maxDepth))
	}
	t := phonebooth.Task{TaskSpec: spec, ID: id, Submission: by, Status: phonebooth.Queued, CreatedAt: now}
	if spec.QueueTimeout > 0 {
		t.QueueDeadline = now.Add(spec.QueueTimeout)
	}
	var c Change
	c.task(t)
	c.taskEvent(phonebooth.TaskSubmitted, t, phonebooth.EventDetail{})
	return c, nil
}

// Submitted is one task of a batch.
type Submitted struct {
	ID   phonebooth.TaskID
	Spec phonebooth.TaskSpec // as [Submit] takes it
	By   phonebooth.Submission
}

// SubmitAll is [Submit] for each of several tasks, in their order, all or none.
func SubmitAll(tasks []Submitted, queued, maxDepth int, now time.Time) (Change, error) {
	if room := max(maxDepth-queued, 0); room < len(tasks) {
		return Change{}, phonebooth.Errorf(phonebooth.Exhausted, "queue_full",
			"the queue has room for %d of the %d tasks of this batch: max_queue_depth = %d; submit fewer, or try again when some have started",
			room, len(tasks), maxDepth).With("limit", strconv.Itoa(maxDepth))
	}
	var all Change
	for i, s := range tasks {
		c, err := Submit(s.ID, s.Spec, s.By, queued+i, maxDepth, now)
		if err != nil {
			return Change{}, err
		}
		all.Tasks, all.Events = append(all.Tasks, c.Tasks...), append(all.Events, c.Events...)
	}
	return all, nil
}

// TimeOutInQueue fails a task that is still queued at its queue deadline (S1.5).
func TimeOutInQueue(t phonebooth.Task, now time.Time) (Change, error) {
	if t.Status != phonebooth.Queued || t.QueueDeadline.IsZero() || now.Before(t.QueueDeadline) {
		return Change{}, notDue()
	}
	var c Change
	c.finishTask(t, phonebooth.Failed, phonebooth.Failure{
		Code: "queue_timeout", Message: "no matching device became free within the queue timeout of " + t.QueueTimeout.String(),
	}, now)
	return c, nil
}

// finishTask moves t to a terminal status.
func (c *Change) finishTask(t phonebooth.Task, status phonebooth.Status, why phonebooth.Failure, now time.Time) {
	t.Status, t.FinishedAt = status, now
	if status != phonebooth.Done && why != (phonebooth.Failure{}) {
		t.Failure = &why
	}
	kind := map[phonebooth.Status]phonebooth.EventKind{
		phonebooth.Done: phonebooth.TaskDone, phonebooth.Failed: phonebooth.TaskFailed, phonebooth.Cancelled: phonebooth.TaskCancelled,
	}[status]
	c.task(t)
	c.taskEvent(kind, t, phonebooth.EventDetail{Code: why.Code, Message: why.Message})
}

func notDue() error {
	return phonebooth.Errorf(phonebooth.Conflict, "not_due", "it is not due any more")
}
