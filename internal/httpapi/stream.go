package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// streamPage is how many events a stream reads at once.
const streamPage = 256

// stream sends events behind after, as server-sent events, until the caller goes away, does not take them in time, or the
// server stops. Filters are applied here: the position moves on over events that do not match, so that each is read once.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, filter store.EventFilter, after int64) error {
	out := &eventWriter{w: w, c: http.NewResponseController(w), slow: s.opts.Slow}
	_ = out.c.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", eventStream)
	w.WriteHeader(http.StatusOK)
	if err := out.comment(after, "following"); err != nil {
		return err
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for {
		more := s.control.EventsAfter(after)
		events, err := s.control.Events(ctx, store.EventFilter{After: after, Limit: streamPage})
		if err != nil {
			return err // the caller comes again with its position
		}
		for _, e := range events {
			after = e.Pos
			if matches(filter, e) {
				out.event(e)
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
		if len(events) == streamPage {
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			// The record is read again too: another replica's events do not wake us.
			if err := out.comment(after, "heartbeat"); err != nil {
				return err
			}
		case <-s.stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func matches(f store.EventFilter, e phonebooth.Event) bool {
	return (f.TaskID == "" || f.TaskID == e.TaskID) && (f.DeviceID == "" || f.DeviceID == e.DeviceID) &&
		(f.HostID == "" || f.HostID == e.HostID) && (f.Kind == "" || f.Kind == e.Kind)
}

// eventWriter writes server-sent events. Nothing waits for a slow reader longer than slow.
type eventWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	slow    time.Duration
	pending []byte
}

// event adds an event to the next flush.
func (o *eventWriter) event(e phonebooth.Event) {
	data, err := json.Marshal(v1.EventOf(e))
	if err != nil {
		panic(err) // an Event is plain data
	}
	o.pending = fmt.Appendf(o.pending, "id: %d\nevent: %s\ndata: %s\n\n", e.Pos, e.Kind, data)
}

// comment sends a comment that also tells the position, so that a reader goes on from there although nothing matched.
func (o *eventWriter) comment(pos int64, text string) error {
	o.pending = fmt.Appendf(o.pending, ": %s\nid: %d\n\n", text, pos)
	return o.flush()
}

func (o *eventWriter) flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	_ = o.c.SetWriteDeadline(time.Now().Add(o.slow))
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	if err != nil {
		return err
	}
	return o.c.Flush()
}
