package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// SubmitBatch stores tasks in their order, all or none, and gives them back after COMMIT. It is [Control.Submit] in all else:
// key is that of the whole batch, "" for none, and a repeat under it gives the same tasks as they are now. What is refused
// says which task is to blame; see [InBatch].
func (c *Control) SubmitBatch(ctx context.Context, by Caller, specs []phonebooth.TaskSpec, key, bodyHash string) (ts []phonebooth.Task, replayed bool, err error) {
	if len(specs) == 0 || len(specs) > phonebooth.MaxBatchTasks {
		return nil, false, phonebooth.Errorf(phonebooth.Invalid, "invalid", "a batch holds 1 to %d tasks", phonebooth.MaxBatchTasks).
			With("pointer", "/tasks")
	}
	checked, refusal := c.checkedBatch(ctx, specs)
	if refusal != nil && key == "" {
		return nil, false, refusal
	}
	tasks, keys, err := submissions(by, checked, key, bodyHash)
	if err != nil {
		return nil, false, answer(err, nil)
	}
	var earlier []phonebooth.TaskID
	v := verb("submit_batch", by)
	v.NeedsHead, v.Heavy = true, true
	v.Keys = fixed(store.Keys{Idempotency: keys})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		if earlier = found(view, keys); earlier != nil {
			return lifecycle.Change{}, nil
		}
		if refusal != nil { // what is true of a submission now says nothing of the one that it may repeat
			return lifecycle.Change{}, refusal
		}
		change, err := lifecycle.SubmitAll(tasks, view.Head.Queued, c.opts.MaxQueueDepth, view.Now)
		ts = change.Tasks
		return change, err
	}
	err = c.ledger.Do(ctx, v)
	if errors.Is(err, store.ErrConstraint) { // another replica took the key in the meantime: it is found now
		err = c.ledger.Do(ctx, v)
	}
	if err != nil {
		return nil, false, answer(err, nil) // not ts: the ledger may still be deciding
	}
	if earlier != nil {
		ts, err = c.replayBatch(ctx, earlier, bodyHash)
		return ts, true, err
	}
	return ts, false, nil
}

// submissions are the tasks of a batch, each under a key of its own if the batch has one.
func submissions(by Caller, specs []phonebooth.TaskSpec, key, bodyHash string) (tasks []lifecycle.Submitted, keys []store.IdempotencyKey, err error) {
	for i, spec := range specs {
		id, err := mintTaskID()
		if err != nil {
			return nil, nil, err
		}
		s := phonebooth.Submission{Subject: by.Subject, IdempotencyKey: keyInBatch(key, i), BodyHash: bodyHash}
		tasks = append(tasks, lifecycle.Submitted{ID: id, Spec: spec, By: s})
		if key != "" {
			keys = append(keys, store.IdempotencyKey{Subject: s.Subject, Key: s.IdempotencyKey})
		}
	}
	return tasks, keys, nil
}

// keyInBatch is the key of a task in a batch. The first has the batch's own, so that the key is used up for single tasks too;
// those of the others hold a space, which no caller's key can.
func keyInBatch(key string, i int) string {
	if key == "" || i == 0 {
		return key
	}
	return key + " " + strconv.Itoa(i)
}

// found are the tasks that the keys of a batch name, "" for one that is not retained; nil when there is none.
func found(view ledger.View, keys []store.IdempotencyKey) []phonebooth.TaskID {
	ids, some := make([]phonebooth.TaskID, len(keys)), false
	for i, key := range keys {
		ids[i] = view.Idempotency[key]
		some = some || ids[i] != ""
	}
	if !some {
		return nil
	}
	return ids
}

// replayBatch answers a repeated batch.
func (c *Control) replayBatch(ctx context.Context, ids []phonebooth.TaskID, bodyHash string) ([]phonebooth.Task, error) {
	var ts []phonebooth.Task
	for _, id := range ids {
		if id == "" {
			continue
		}
		t, err := c.replay(ctx, id, bodyHash)
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	if gone := len(ids) - len(ts); gone > 0 {
		return nil, phonebooth.Errorf(phonebooth.NotFound, "task_unknown",
			"this batch was submitted before, and %d of its %d tasks have been removed after their retention; use a new key to submit it again",
			gone, len(ids))
	}
	return ts, nil
}

// checkedBatch are the tasks of a batch as they are stored, or the refusal of the first that makes no sense. Tasks that name
// the newest version of a workflow all get the same one.
func (c *Control) checkedBatch(ctx context.Context, specs []phonebooth.TaskSpec) ([]phonebooth.TaskSpec, error) {
	known := workflows{}
	checked := make([]phonebooth.TaskSpec, len(specs))
	for i, spec := range specs {
		err := spec.Validate()
		if err == nil {
			spec, err = c.resolveWorkflow(ctx, spec, known)
		}
		if checked[i] = spec; err != nil {
			return checked, InBatch(i, err)
		}
	}
	return checked, nil
}

// InBatch makes err, a refusal of the task at an index of a batch, one of the batch: its pointer begins at the batch, its
// message names the task, and its detail index counts from 0.
func InBatch(index int, err error) error {
	refusal, ok := errors.AsType[*phonebooth.Error](err)
	if !ok {
		return err
	}
	at := fmt.Sprintf("/tasks/%d", index)
	e := refusal.With("pointer", at+refusal.Detail["pointer"]).With("index", strconv.Itoa(index))
	e.Message = at + ": " + refusal.Message
	return e
}
