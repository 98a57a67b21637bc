package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

// logPiece is how much of a log one message holds at most.
const logPiece = 32 << 10

// followLog begins to follow a log. A refusal is an answer of its own, so it comes before the stream.
func (s *Server) followLog(ctx context.Context, in *logInput) (*huma.StreamResponse, error) {
	request := control.LogRequest{
		Name: in.Name, At: control.LogPosition{Attempt: in.Attempt, Offset: in.Offset}, Only: in.Attempt, Wait: in.Follow, Bytes: logPiece,
	}
	events := strings.Contains(in.Accept, eventStream)
	if events && in.LastEventID != "" {
		if _, err := fmt.Sscanf(in.LastEventID, "%d:%d", &request.At.Attempt, &request.At.Offset); err != nil || request.At.Attempt == 0 {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "Last-Event-ID is ATTEMPT:OFFSET, and attempts are numbered from 1")
		}
	}
	follower, err := s.control.FollowLog(ctx, phonebooth.TaskID(in.ID), request)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer follower.Close()
		r, w := humago.Unwrap(ctx)
		out := streamOf(w, s.opts.Slow)
		var form logForm = (*logText)(out)
		if events {
			form = (*logEvents)(out)
		}
		err := s.copyLog(r.Context(), out, form, follower)
		s.log.Debug("log stream ended", "request_id", requestOf(r.Context()).id, "err", err)
		if err != nil {
			panic(http.ErrAbortHandler) // a log that seems whole and is not would be worse
		}
	}}, nil
}

// logForm is how the news of a log are written.
type logForm interface {
	contentType() string
	// add takes in one piece. end says that no more is wanted; an error breaks the answer off.
	add(p control.LogPiece) (end bool, err error)
	beat()
	slow() // the reader is, and is dropped
}

// errStopping breaks streams off that a caller takes up again.
var errStopping = errors.New("the server is stopping")

// copyLog writes what follower tells until its end. Nobody waits for a slow reader longer than is allowed.
func (s *Server) copyLog(ctx context.Context, out *stream, form logForm, follower *control.LogFollower) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-s.stopping:
			stop(errStopping)
		case <-ctx.Done():
		}
	}()
	send := func() error {
		slow, err := out.send()
		if err == nil && slow {
			form.slow()
			_, err = out.send()
			err = errors.Join(errSlow, err)
		}
		return err
	}
	_ = out.c.SetReadDeadline(time.Time{})
	out.w.Header().Set("Content-Type", form.contentType())
	out.w.WriteHeader(http.StatusOK)
	form.beat()
	if err := send(); err != nil {
		return err
	}
	for {
		piece, err := follower.Next(ctx, s.opts.Heartbeat)
		end := false
		switch {
		case err == nil:
			end, err = form.add(piece)
		case errors.Is(err, control.ErrNoNews):
			form.beat()
			err = nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		if err == nil {
			err = send()
		}
		if end || err != nil {
			return err
		}
	}
}

// stream sends pieces to a caller that takes each in time.
type stream struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	limit   time.Duration // for one piece
	pending []byte
}

func streamOf(w http.ResponseWriter, limit time.Duration) *stream {
	return &stream{w: w, c: http.NewResponseController(w), limit: limit}
}

// send writes what is pending. A reader that takes it in more than half of the time that it has is slow.
func (o *stream) send() (slow bool, err error) {
	began := time.Now()
	_ = o.c.SetWriteDeadline(began.Add(o.limit))
	if len(o.pending) > 0 {
		if _, err := o.w.Write(o.pending); err != nil {
			return false, err
		}
		o.pending = o.pending[:0]
	}
	err = o.c.Flush()
	return time.Since(began) > o.limit/2, err
}

// logText is the bytes of one attempt's log and nothing else, so it cannot say that nothing is missing but by its end.
type logText stream

func (o *logText) contentType() string { return "text/plain; charset=utf-8" }

func (o *logText) beat() {}

func (o *logText) slow() {}

func (o *logText) add(p control.LogPiece) (end bool, err error) {
	switch p.News {
	case control.LogBytes:
		o.pending = append(o.pending, p.Data...)
	case control.LogGap:
		o.pending = append(o.pending, blob.LeftOut(p.Left)...)
	case control.LogCloses:
		if p.Missing != "" {
			return true, errors.New(p.Missing)
		}
		return true, nil
	case control.LogEnds:
		return true, nil
	}
	return false, nil
}

// logEvents are the messages of v1.LogMessage as server-sent events.
type logEvents stream

func (o *logEvents) contentType() string { return eventStream }

func (o *logEvents) beat() { o.pending = append(o.pending, ": heartbeat\n\n"...) }

func (o *logEvents) slow() {
	o.pending = append(o.pending, "event: "+v1.NoticeDropped+"\n"+
		`data: {"code":"slow_reader","message":"this stream is read too slowly and ends here; go on behind the last id"}`+"\n\n"...)
}

func (o *logEvents) add(p control.LogPiece) (end bool, err error) {
	m := v1.LogMessage{Attempt: p.Attempt, Offset: p.Offset}
	kind := v1.LogAttempt
	switch p.News {
	case control.LogBytes:
		kind, m.Data = v1.LogData, p.Data
	case control.LogGap:
		kind, m.Bytes = v1.LogGap, p.Left
	case control.LogCloses:
		kind, m.Complete, m.Reason = v1.LogClosed, p.Missing == "", p.Missing
	case control.LogEnds:
		kind, m.Status = v1.LogEnd, string(p.Status)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	o.pending = fmt.Appendf(o.pending, "id: %d:%d\nevent: %s\ndata: %s\n\n", p.Next.Attempt, p.Next.Offset, kind, data)
	return p.News == control.LogEnds, nil
}
