package sqlstore

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// FinishedAt is when each of the tasks ended: the zero time of one that has not, and nothing of one that is not there.
func (s *Store) FinishedAt(ctx context.Context, ids []phonebooth.TaskID) (map[phonebooth.TaskID]time.Time, error) {
	found := map[phonebooth.TaskID]time.Time{}
	if len(ids) == 0 {
		return found, nil
	}
	err := s.engine.read(ctx, step{
		text: "SELECT t.id, t.finished_at FROM tasks t WHERE t.id IN [EACH $1]", args: []any{idStrings(ids)},
		row: func(read scanner) error {
			var id phonebooth.TaskID
			var ended time.Time
			err := read(text(&id), at(&ended))
			found[id] = ended
			return err
		},
	})
	return found, err
}
