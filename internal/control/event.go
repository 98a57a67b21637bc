package control

import (
	"context"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// EventPage is a page of the record. A position behind which retention has removed events is refused, and one that the record
// has not reached: neither can be gone on from without missing something.
func (c *Control) EventPage(ctx context.Context, filter store.EventFilter) (store.EventPage, error) {
	page, err := c.store.EventPage(ctx, filter)
	if err == nil && !filter.Newest {
		err = CheckPosition(filter.After, page.Span)
	}
	return page, answer(err, nil)
}

// EventSpan is which events there are.
func (c *Control) EventSpan(ctx context.Context) (store.EventSpan, error) {
	span, err := c.store.EventSpan(ctx)
	return span, answer(err, nil)
}

// EventSince is the position behind which the events at or after a time are.
func (c *Control) EventSince(ctx context.Context, at time.Time) (int64, error) {
	after, err := c.store.EventSince(ctx, at)
	return after, answer(err, nil)
}

// CheckPosition says what is wrong with going on behind a position. 0 is the beginning of what there is.
func CheckPosition(after int64, span store.EventSpan) error {
	switch {
	case after > span.Newest:
		return phonebooth.Errorf(phonebooth.Conflict, "position_ahead",
			"the record ends at position %d and this one is beyond it: it is of another server, or the database was restored from a backup; "+
				"begin anew without a position", span.Newest).With("newest", strconv.FormatInt(span.Newest, 10))
	case after > 0 && after < span.Oldest-1:
		return Pruned(after, span.Oldest)
	}
	return nil
}

// Pruned says that the events behind after and before oldest are gone.
func Pruned(after, oldest int64) *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Gone, "position_pruned",
		"the events %d to %d were removed after their retention; the record goes on at position %d: read anew what you know, and follow from %d",
		after+1, oldest-1, oldest, oldest-1).With("oldest", strconv.FormatInt(oldest, 10))
}
