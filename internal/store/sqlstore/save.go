package sqlstore

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Save writes a row that Load gave over the old one, and inserts any other. What is ended is written before what begins, so
// that a device or a task may change hands within one change; a reservation is never written over another.
func (t *tx) Save(ctx context.Context, change lifecycle.Change, head *store.Head) error {
	var steps []step
	if l := change.Leader; l != nil {
		steps = append(steps, step{
			text: "UPDATE leader SET holder = $1, term = $2, until = $3 WHERE id = 1",
			args: []any{l.Holder, l.Term, micros(l.Until)}, one: true,
		})
	}
	for _, h := range change.Hosts {
		_, known := t.loaded.Hosts[h.ID]
		steps = append(steps, hostTable.writing(h, known))
	}
	for _, d := range change.Devices {
		_, known := t.loaded.Devices[d.ID]
		steps = append(steps, deviceTable.writing(d, known))
	}
	for _, v := range change.Tasks {
		_, known := t.loaded.Tasks[v.ID]
		steps = append(steps, taskTable.writing(v, known))
		if !known {
			steps = append(steps, labelling(v)...)
		}
	}
	for _, live := range []bool{false, true} {
		for _, a := range change.Attempts {
			if a.Live() == live {
				_, known := t.loaded.Attempts[a.AttemptKey]
				steps = append(steps, attemptTable.writing(a, known))
			}
		}
	}
	for _, w := range change.Workflows {
		steps = append(steps, workflowTable.inserting(w))
	}
	for _, id := range change.Release {
		steps = append(steps, step{text: "DELETE FROM reservations WHERE device_id = $1", args: []any{string(id)}})
	}
	for _, r := range change.Reserve {
		steps = append(steps, reservationTable.inserting(r))
	}
	for _, e := range change.Events {
		steps = append(steps, eventTable.inserting(e))
	}
	if head != nil {
		steps = append(steps, step{
			text: "UPDATE head SET queued = $1, pos = $2, now = $3 WHERE id = 1",
			args: []any{int64(head.Queued), head.Pos, micros(head.Now)}, one: true,
		})
	}
	return t.runner.run(ctx, steps...)
}

// labelling are the steps that make a new task to be found by its labels.
func labelling(t phonebooth.Task) (steps []step) {
	for name, value := range t.Labels {
		steps = append(steps, step{
			text: "INSERT INTO task_labels (seq, name, value) VALUES ($1, $2, $3)", args: []any{t.Seq, name, value}, one: true,
		})
	}
	return steps
}
