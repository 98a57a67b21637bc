package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func scanEvent(read scanner) (phonebooth.Event, error) { return eventTable.scan(read, nil) }

var selectEvents = "SELECT " + eventTable.list + " FROM events e"

// Events lists events in the order of their positions, which is that of their commits: whoever has seen position n and asks
// for what is after it misses nothing.
func (s *Store) Events(ctx context.Context, filter store.EventFilter) ([]phonebooth.Event, error) {
	way := eventWalk(&filter)
	w := way.terms
	w.and("e.pos > $?", filter.After)
	askEvents(&w, filter)
	end := w.end("e.pos", filter.Limit)
	return all(ctx, s.engine, scanEvent, selectEvents+end, w.args...)
}

// eventWalk is the way along which events are read: those of a task or a device have an index, all have their positions.
func eventWalk(f *store.EventFilter) walk {
	w := walk{from: " FROM events e", key: "e.pos", look: scattered}
	switch {
	case f.TaskID != "":
		w.terms.and("e.task_id <> '' AND e.task_id = $?", string(f.TaskID))
		f.TaskID = ""
	case f.DeviceID != "":
		w.terms.and("e.device_id <> '' AND e.device_id = $?", string(f.DeviceID))
		f.DeviceID = ""
	default:
		w.look = look
	}
	return w
}

// askEvents adds the terms that are seen on the rows, and says whether there are any.
func askEvents(w *where, f store.EventFilter) bool {
	before := len(w.terms)
	if f.DeviceID != "" {
		w.and("e.device_id = $?", string(f.DeviceID))
	}
	if f.HostID != "" {
		w.and("e.host_id = $?", string(f.HostID))
	}
	if len(f.Kinds) > 0 {
		w.and("e.kind IN [EACH $?]", idStrings(f.Kinds))
	}
	for _, l := range f.Labels {
		if l.Any {
			w.and("EXISTS (SELECT 1 FROM LABELS(e.labels) b WHERE b.key = $?)", l.Name)
		} else {
			w.and("EXISTS (SELECT 1 FROM LABELS(e.labels) b WHERE b.key = $? AND b.value = $?)", l.Name, l.Value)
		}
	}
	return len(w.terms) > before
}

// EventPage looks at a bounded part of the record: see [store.EventPage].
func (s *Store) EventPage(ctx context.Context, f store.EventFilter) (page store.EventPage, err error) {
	way := eventWalk(&f)
	rows := where{terms: slices.Clone(way.terms.terms), args: slices.Clone(way.terms.args)}
	asked := askEvents(&rows, f)
	order, past, upTo, start := "e.pos", "e.pos > $?", "e.pos <= $?", f.After
	if f.Newest {
		order, past, upTo, start = "e.pos DESC", "e.pos < $?", "e.pos >= $?", f.Before
	}
	begin := func(w *where) {
		if start > 0 || !f.Newest {
			w.and(past, start)
		}
	}
	var edge []int64
	if asked {
		t := where{terms: slices.Clone(way.terms.terms), args: slices.Clone(way.terms.args)}
		begin(&t)
		end := t.end(order, 1)
		t.args = append(t.args, int64(way.look-1))
		if err := s.engine.read(ctx, every(&edge, scanNumber, "SELECT e.pos"+way.from+end+offset(len(t.args)), t.args...)); err != nil {
			return page, err
		}
	}
	begin(&rows)
	if len(edge) > 0 {
		rows.and(upTo, edge[0])
	}
	end := rows.end(order, f.Limit+1) // to see whether there is another one
	if err := s.engine.read(ctx, every(&page.Events, scanEvent, selectEvents+end, rows.args...), readSpan(&page.Span)); err != nil {
		return page, err
	}
	page.Next = start
	switch {
	case len(page.Events) > f.Limit:
		page.Events, page.More = page.Events[:f.Limit], true
		page.Next = page.Events[f.Limit-1].Pos
	case len(edge) > 0:
		page.Next, page.More = edge[0], true
	case f.Newest:
		page.Next = page.Span.Oldest
	default:
		page.Next = max(start, page.Span.Newest)
	}
	return page, nil
}

// EventSpan is which events there are.
func (s *Store) EventSpan(ctx context.Context) (span store.EventSpan, err error) {
	err = s.engine.read(ctx, readSpan(&span))
	return span, err
}

func readSpan(span *store.EventSpan) step {
	return step{
		text: "SELECT COALESCE((SELECT e.pos FROM events e ORDER BY e.pos LIMIT 1), h.pos + 1), h.pos FROM head h WHERE h.id = 1",
		row:  func(read scanner) error { return read(number(&span.Oldest), number(&span.Newest)) },
	}
}

// EventSince finds the position behind which the events at or after a time are. Times grow with positions, so that a score of
// reads is enough.
func (s *Store) EventSince(ctx context.Context, at time.Time) (int64, error) {
	span, err := s.EventSpan(ctx)
	if err != nil {
		return 0, err
	}
	low, high := span.Oldest-1, span.Newest // what is at or below low is older, what is above high is not
	for low < high {
		middle := low + (high-low)/2 + 1
		var when []int64
		if err := s.engine.read(ctx, every(&when, scanNumber,
			"SELECT e.at FROM events e WHERE e.pos >= $1 ORDER BY e.pos LIMIT 1", middle)); err != nil {
			return 0, err
		}
		if len(when) > 0 && when[0] < micros(at) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}
