package sqlstore

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// tx is one write transaction.
type tx struct {
	engine engine
	runner runner
	loaded *store.Rows // what Load gave: those rows are updated, all others inserted
	now    time.Time   // read after the newest lock; zero before the first
}

// Now gives the time that was read behind the newest lock, in the same round trip.
func (t *tx) Now(ctx context.Context) (time.Time, error) {
	if t.now.IsZero() {
		if err := t.runner.run(ctx, clock(t.engine, &t.now)); err != nil {
			return time.Time{}, err
		}
	}
	return t.now, nil
}

func (t *tx) Head(ctx context.Context) (head store.Head, err error) {
	err = t.runner.run(ctx, readHead(&head, " FOR UPDATE"), clock(t.engine, &t.now))
	return head, err
}

func readHead(head *store.Head, lock string) step {
	return step{
		text: "SELECT h.queued, h.pos, h.now FROM head h WHERE h.id = 1" + lock,
		row: func(read scanner) error {
			return read(number(&head.Queued), number(&head.Pos), at(&head.Now))
		},
	}
}
