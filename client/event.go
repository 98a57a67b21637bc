package client

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// EventQuery chooses events.
type EventQuery struct {
	// After is the position behind which to begin: 0 is the beginning of the record. [Client.Follow] takes [OnlyNew] too.
	After    int64
	TaskID   string
	DeviceID string
	HostID   string
	Kinds    []string  // any of these: task.done, or task.* for all of tasks
	Labels   []string  // of the event's task: KEY or KEY=VALUE; all of them
	Since    time.Time // with [OnlyNew] as After: begin with the first event then or later
	Limit    int       // of a page; 0: the server's default, 100

	// Of a page: the newest first, below the position Before, or from the newest when that is 0. After is not looked at.
	Newest bool
	Before int64

	// Pruned is told by [Client.Follow] that events were removed after their retention before they were read, and that it
	// goes on with the one at oldest. Without it Follow ends with the error position_pruned.
	Pruned func(oldest int64)
}

// OnlyNew as EventQuery.After follows what is committed from now on.
const OnlyNew = -1

func (q EventQuery) values() url.Values {
	query := url.Values{}
	set(query, "task_id", q.TaskID)
	set(query, "device_id", q.DeviceID)
	set(query, "host_id", q.HostID)
	set(query, "kind", strings.Join(q.Kinds, ","))
	for _, term := range q.Labels {
		query.Add("label", term)
	}
	if q.After == OnlyNew {
		setTime(query, "since", q.Since)
	}
	if q.Newest {
		query.Set("order", "newest")
		query.Set("before", strconv.FormatInt(q.Before, 10))
	} else {
		query.Set("after", strconv.FormatInt(q.After, 10))
	}
	return query
}

// Events is a page of events, oldest first unless asked otherwise. A page may be short, or empty: the next one, behind its Next, is
// there as long as it says More.
func (c *Client) Events(ctx context.Context, q EventQuery) (list v1.EventList, err error) {
	query := q.values()
	setLimit(query, q.Limit)
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "events"}, query: query, safe: true}, &list)
	return list, err
}

// Follow gives every event that q chooses, in order, each once: what is there behind q.After, then what comes. A stream that
// breaks is taken up where it broke. It ends with ctx, or with one error when the server stays away for longer than the
// client's patience or refuses.
//
//	for event, err := range c.Follow(ctx, client.EventQuery{After: client.OnlyNew}) {
func (c *Client) Follow(ctx context.Context, q EventQuery) iter.Seq2[v1.Event, error] {
	return func(yield func(v1.Event, error) bool) {
		f := &follower{client: c, query: q}
		for ctx.Err() == nil {
			more, err := f.stream(ctx, yield)
			if !more {
				return
			}
			if err != nil {
				if ctx.Err() == nil {
					yield(v1.Event{}, err)
				}
				return
			}
			select { // the stream ended: the server stops, or something between does not like long answers
			case <-time.After(rand.N(time.Second)):
			case <-ctx.Done():
			}
		}
	}
}

// follower knows how far a stream has come.
type follower struct {
	client *Client
	query  EventQuery
}

// stream follows until the connection ends; an error is a refusal, or that there was no connection for too long. more is
// false when nobody wants more.
func (f *follower) stream(ctx context.Context, yield func(v1.Event, error) bool) (more bool, err error) {
	header := http.Header{}
	if f.query.After > 0 {
		header.Set(v1.HeaderLastEventID, strconv.FormatInt(f.query.After, 10))
	}
	return f.client.messages(ctx, []string{"v1", "events"}, f.query.values(), header, func(m message) (bool, error) {
		return f.message(m.id, m.kind, m.data, yield)
	})
}

// message takes in one message of the stream: an event, a notice, or only a position.
func (f *follower) message(id, kind, data string, yield func(v1.Event, error) bool) (more bool, err error) {
	if pos, err := strconv.ParseInt(id, 10, 64); err == nil {
		f.query.After = pos
	}
	if data == "" {
		return true, nil
	}
	switch kind {
	case v1.NoticeDropped: // the stream ends, and is taken up behind the position
		return true, nil
	case v1.NoticePruned:
		return f.pruned(data)
	}
	var event v1.Event
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return true, notUnderstood(err)
	}
	return yield(event, nil), nil
}

// pruned tells that events are gone.
func (f *follower) pruned(data string) (more bool, err error) {
	var notice v1.Notice
	if err := json.Unmarshal([]byte(data), &notice); err != nil {
		return true, notUnderstood(err)
	}
	if f.query.Pruned == nil {
		return true, phonebooth.Errorf(phonebooth.Gone, notice.Code, "%s", notice.Message).
			With("oldest", strconv.FormatInt(notice.Oldest, 10))
	}
	f.query.Pruned(notice.Oldest)
	return true, nil
}

func notUnderstood(err error) *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unavailable, Unreadable, "the event stream cannot be understood").Because(err)
}
