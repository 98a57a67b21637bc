package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// LogQuery says which of a task's logs to follow, and from where.
type LogQuery struct {
	Name    string // v1.LogRunner or another; "": the runner's
	Attempt int    // this one alone; 0: the newest, and each later one until the task has ended
	All     bool   // without Attempt: begin with the first one
	Offset  int64  // where to begin in the first log; it counts what the runner wrote
	Now     bool   // only what is there now
}

// LogEvent is one thing that happens to a log that is followed. Kind is v1.LogAttempt or one of its like.
type LogEvent struct {
	Kind string
	v1.LogMessage
}

// LeftOut is the line that stands for bytes of a log that were left out.
func LeftOut(n int64) string { return fmt.Sprintf("\n[phonebooth: %d bytes left out]\n", n) }

// FollowLog gives every byte of a task's logs, in order, each once, with the beginning and the end of each attempt. It begins
// before the task does, and a stream that breaks, as when the server is restarted, is taken up where it broke. Its last event
// is a v1.LogEnd; or it ends with ctx, or with one error when the server stays away for longer than the client's patience or
// refuses.
//
//	for event, err := range c.FollowLog(ctx, task.ID, client.LogQuery{All: true}) {
func (c *Client) FollowLog(ctx context.Context, id string, q LogQuery) iter.Seq2[LogEvent, error] {
	return func(yield func(LogEvent, error) bool) {
		f := &logReader{client: c, task: id, query: q, yield: yield, heard: time.Now()}
		if q.All && q.Attempt == 0 {
			f.at = "1:" + strconv.FormatInt(q.Offset, 10)
		}
		for ctx.Err() == nil && !f.done {
			err := f.stream(ctx)
			if f.done || ctx.Err() != nil {
				return
			}
			if err == nil && time.Since(f.heard) > max(c.patience, 0) {
				err = c.unreachable(io.ErrUnexpectedEOF)
			}
			if err != nil {
				yield(LogEvent{}, err)
				return
			}
			select { // the stream broke: the server stops, or something between does not like long answers
			case <-time.After(rand.N(firstPause)):
			case <-ctx.Done():
			}
		}
	}
}

// logReader knows how far a log was read.
type logReader struct {
	client  *Client
	task    string
	query   LogQuery
	yield   func(LogEvent, error) bool
	at      string    // where to go on: the id of the last message; "": where the query says
	attempt int       // that was told of
	heard   time.Time // when it was last well: a message came, or a stream that had lasted ended
	done    bool      // nobody wants more, or there is no more
}

// stream reads until the connection ends; an error is a refusal, or that there was no connection for too long.
func (f *logReader) stream(ctx context.Context) error {
	query := url.Values{}
	set(query, "name", f.query.Name)
	if f.query.Attempt != 0 {
		query.Set("attempt", strconv.Itoa(f.query.Attempt))
	}
	if f.query.Offset != 0 {
		query.Set("offset", strconv.FormatInt(f.query.Offset, 10))
	}
	if !f.query.Now {
		query.Set("follow", "true")
	}
	header := http.Header{}
	if f.at != "" {
		header.Set(v1.HeaderLastEventID, f.at)
	}
	began := time.Now()
	_, err := f.client.messages(ctx, []string{"v1", "tasks", f.task, "log"}, query, header, func(m message) (bool, error) {
		err := f.message(m.id, m.kind, m.data)
		return !f.done, err
	})
	if err == nil && time.Since(began) > time.Second {
		f.heard = time.Now()
	}
	return err
}

// message takes in one message of the stream.
func (f *logReader) message(id, kind, data string) error {
	switch kind {
	case v1.LogAttempt, v1.LogData, v1.LogGap, v1.LogClosed, v1.LogEnd:
	default: // about the stream itself, or of a newer server
		return nil
	}
	e := LogEvent{Kind: kind}
	if err := json.Unmarshal([]byte(data), &e.LogMessage); err != nil {
		return phonebooth.Errorf(phonebooth.Unavailable, Unreadable, "the log stream cannot be understood").Because(err)
	}
	f.heard = time.Now()
	if id != "" {
		f.at = id
	}
	if kind == v1.LogAttempt {
		if e.Attempt == f.attempt {
			return nil // the stream was taken up
		}
		f.attempt = e.Attempt
	}
	f.done = !f.yield(e, nil) || kind == v1.LogEnd
	return nil
}

// CopySection writes n bytes of an attempt's log to w, from offset on, as far as they are there. Of those that were left out
// a line tells how many.
func (c *Client) CopySection(ctx context.Context, w io.Writer, id string, q LogQuery, n int64) error {
	q.Now = true
	end := q.Offset + n
	for e, err := range c.FollowLog(ctx, id, q) {
		if err != nil {
			return err
		}
		p := e.Data
		if e.Kind == v1.LogGap {
			p = []byte(LeftOut(min(e.Bytes, end-e.Offset)))
		} else if rest := end - e.Offset; int64(len(p)) > rest {
			p = p[:rest]
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		if e.Offset+max(e.Bytes, int64(len(e.Data))) >= end {
			return nil
		}
	}
	return ctx.Err()
}
