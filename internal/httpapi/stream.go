package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

const (
	pieceBytes = 64 << 10    // of a stream are written at once
	lookEvery  = time.Second // for the events of other replicas
)

// errSlow ends a stream whose reader was told that it is too slow.
var errSlow = errors.New("the reader is too slow")

// farBehind is how many events without one that is asked for, read at once, show that a stream has a long way to go.
const farBehind = 100

// stream sends events behind after, as server-sent events, until the caller goes away, does not take them in time, or the
// server stops. Filters are applied here: the position moves on over events that do not match, so that each is read once, for
// all streams that are at it. Where few match for long, the database looks for them.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, filter store.EventFilter, after, oldest int64) error {
	out := &eventWriter{w: w, c: http.NewResponseController(w), slow: s.opts.Slow}
	_ = out.c.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", eventStream)
	w.WriteHeader(http.StatusOK)
	if err := out.comment(after, "following"); err != nil {
		return err
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	there := make(chan struct{}) // for a stream that may read on at once
	close(there)
	f := &follower{control: s.control, filter: filter, after: after, oldest: oldest}
	for {
		more := s.control.EventsAfter(f.after)
		again, err := f.pass(ctx, out)
		if err != nil {
			return err // the caller comes again with its position
		}
		if again {
			more = there
		}
		select { // first: events that are there already hold up neither
		case <-beat.C:
			err = out.comment(f.after, "heartbeat")
		case <-s.stopping:
			return nil
		default:
			select {
			case <-more:
			case <-look.C:
				err = s.control.LookForEvents(ctx)
			case <-beat.C:
				err = out.comment(f.after, "heartbeat")
			case <-s.stopping:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
}

// follower is where a stream is in the record.
type follower struct {
	control Control
	filter  store.EventFilter
	after   int64
	oldest  int64 // that there is, as far as is known
	far     bool  // from the next event that matches
}

// pass sends the next events. again says that there may be more already.
func (f *follower) pass(ctx context.Context, out *eventWriter) (again bool, err error) {
	if f.far {
		filter := f.filter
		filter.After, filter.Limit = f.after, farBehind
		page, err := f.control.EventPage(ctx, filter)
		if err == nil {
			f.far = page.More
			return true, f.send(out, page.Events, page.Next)
		}
		f.far = false // what was pruned meanwhile is told below
	}
	events, err := f.control.EventsBehind(ctx, f.after)
	if err != nil {
		return false, err
	}
	next := f.after
	if len(events) > 0 {
		f.oldest = max(f.oldest, events[0].Pos) // positions have no gaps but for what was removed
		next = events[len(events)-1].Pos
	}
	if f.after < f.oldest-1 {
		out.notice(v1.NoticePruned, f.oldest-1, control.Pruned(f.after, f.oldest))
		next = max(next, f.oldest-1)
	}
	f.far = len(events) > farBehind && !slices.ContainsFunc(events, f.filter.Match)
	return len(events) > 0, f.send(out, events, next)
}

// send sends those of events that match, and goes on to the position next.
func (f *follower) send(out *eventWriter, events []phonebooth.Event, next int64) error {
	for _, e := range events {
		if f.filter.Match(e) {
			if err := out.event(e); err != nil {
				return err
			}
		}
	}
	f.after = next
	return out.flush()
}

// eventWriter writes server-sent events. Nothing waits for a slow reader longer than slow: one that takes a piece in more than
// half of that is told and dropped, one that does not take it is cut off.
type eventWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	slow    time.Duration
	pos     int64 // of what is pending
	pending []byte
}

// event sends an event, with the next flush or now.
func (o *eventWriter) event(e phonebooth.Event) error {
	data, err := json.Marshal(v1.EventOf(e))
	if err != nil {
		panic(err) // an Event is plain data
	}
	o.pos = e.Pos
	o.pending = fmt.Appendf(o.pending, "id: %d\nevent: %s\ndata: %s\n\n", e.Pos, e.Kind, data)
	if len(o.pending) < pieceBytes {
		return nil
	}
	return o.flush()
}

// notice adds a message about the stream itself to the next flush.
func (o *eventWriter) notice(kind string, pos int64, about *phonebooth.Error) {
	oldest, _ := strconv.ParseInt(about.Detail["oldest"], 10, 64)
	data, err := json.Marshal(v1.Notice{Code: about.Code, Message: about.Message, Oldest: oldest})
	if err != nil {
		panic(err) // a Notice is plain data
	}
	o.pos = pos
	o.pending = fmt.Appendf(o.pending, "id: %d\nevent: %s\ndata: %s\n\n", pos, kind, data)
}

// comment sends a comment that also tells the position, so that a reader goes on from there although nothing matched.
func (o *eventWriter) comment(pos int64, text string) error {
	o.pos = pos
	o.pending = fmt.Appendf(o.pending, ": %s\nid: %d\n\n", text, pos)
	return o.flush()
}

func (o *eventWriter) flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	began := time.Now()
	if err := o.write(); err != nil {
		return err
	}
	if time.Since(began) <= o.slow/2 {
		return nil
	}
	o.notice(v1.NoticeDropped, o.pos, phonebooth.Errorf(phonebooth.Exhausted, "slow_reader",
		"this stream is read too slowly and ends here; go on behind the last id"))
	return errors.Join(errSlow, o.write())
}

func (o *eventWriter) write() error {
	_ = o.c.SetWriteDeadline(time.Now().Add(o.slow))
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	if err != nil {
		return err
	}
	return o.c.Flush()
}
