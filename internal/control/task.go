package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Task is the task as it is now, also after its end, as long as it is retained (S1.3).
func (c *Control) Task(ctx context.Context, id phonebooth.TaskID) (phonebooth.Task, error) {
	t, err := c.store.Task(ctx, id)
	return t, answer(err, unknownTask())
}

// Tasks lists tasks, newest submission first.
func (c *Control) Tasks(ctx context.Context, filter store.TaskFilter) (store.TaskPage, error) {
	page, err := c.store.Tasks(ctx, filter)
	return page, answer(err, nil)
}

// Attempts lists every attempt of a task, expired ones too (S7.4).
func (c *Control) Attempts(ctx context.Context, id phonebooth.TaskID) ([]phonebooth.Attempt, error) {
	if _, err := c.Task(ctx, id); err != nil {
		return nil, err
	}
	as, err := c.store.Attempts(ctx, id)
	return as, answer(err, nil)
}
