package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Cancel cancels a queued task at once and asks the host of an active one to stop; the answer's status tells which (S9.2).
func (c *Control) Cancel(ctx context.Context, by Caller, id phonebooth.TaskID) (phonebooth.Task, error) {
	v := verb("cancel", by)
	v.Keys = fixed(store.Keys{Tasks: []phonebooth.TaskID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		t, ok := view.Tasks[id]
		if !ok {
			return lifecycle.Change{}, unknownTask()
		}
		return lifecycle.Cancel(t, view.Now)
	}
	if err := c.ledger.Do(ctx, v); err != nil {
		return phonebooth.Task{}, answer(err, nil)
	}
	return c.Task(ctx, id)
}
