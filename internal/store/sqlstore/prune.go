package sqlstore

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// eventsPerTask is how many events go with one task in a batch: more than tasks leave on average, or they would pile up.
const eventsPerTask = 10

// Prune deletes a batch of old tasks and events: see [store.Store]. Locks are taken in the order of the ids, as everywhere.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (gone []phonebooth.TaskID, err error) {
	err = s.engine.write(ctx, func(r runner) error {
		gone = nil
		if err := r.run(ctx, every(&gone, scanID[phonebooth.TaskID], "SELECT t.id FROM tasks t"+
			" WHERE t.finished_at > 0 AND t.finished_at < $1 ORDER BY t.finished_at LIMIT $2", micros(before), int64(limit))); err != nil {
			return err
		}
		ids := idStrings(gone)
		return r.run(ctx,
			step{text: "SELECT t.id FROM tasks t WHERE t.id IN [EACH $1] ORDER BY t.id FOR UPDATE", args: []any{ids}, row: ignore},
			step{
				text: "SELECT a.number FROM attempts a WHERE a.task_id IN [EACH $1] ORDER BY a.task_id, a.number FOR UPDATE",
				args: []any{ids}, row: ignore,
			},
			step{text: "DELETE FROM attempts WHERE task_id IN [EACH $1]", args: []any{ids}},
			step{text: "DELETE FROM task_labels WHERE seq IN [SELECT t.seq FROM tasks t WHERE t.id IN [EACH $1]]", args: []any{ids}},
			step{text: "DELETE FROM tasks WHERE id IN [EACH $1]", args: []any{ids}},
			step{
				// Positions grow with time, so the old events are the first ones.
				text: "DELETE FROM events WHERE pos IN (SELECT o.pos FROM (SELECT e.pos, e.at FROM events e ORDER BY e.pos LIMIT $2) o" +
					" WHERE o.at < $1)",
				args: []any{micros(before), int64(limit * eventsPerTask)},
			},
		)
	})
	return gone, err
}
