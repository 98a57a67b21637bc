package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (s *Server) registerLog() {
	_ = s.jsonOf(v1.LogMessage{}) // documents it
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}/log", id: "read-log", tag: "tasks", access: onlyAdmin,
		summary: "Read an attempt's log",
		description: "The bytes that the runner wrote, as it wrote them. Of a very long log the middle is left out, and a line says so.\n\n" +
			"With follow=true they come as they are written, from before the attempt has begun until its log is whole. An answer that breaks " +
			"off is not whole: ask again from the offset that was reached.\n\n" +
			"With Accept: text/event-stream the log comes as server-sent events, which also tell attempts apart: without attempt they begin " +
			"with the newest one and go on with each later one until the task has ended. `attempt` says whose log follows and from which offset; " +
			"`log` has its bytes in base64; `gap` says how many were left out; `closed`, that the attempt has ended and whether its log is " +
			"whole; `end`, that nothing more will come. A comment comes every 15 seconds. The id of each is ATTEMPT:OFFSET, where to go on: " +
			"Last-Event-ID takes a stream up there, and 1:0 begins with the first attempt. Without follow=true they tell what is there now. " +
			"A reader that does not take in time what is sent to it is dropped, if it can be with the message `dropped`.",
		codes: []string{"task_unknown", "attempt_unknown", "log_expired"},
		responses: map[string]*huma.Response{"200": {
			Description: "The log's bytes", Content: map[string]*huma.MediaType{
				"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}},
				eventStream:  {Schema: &huma.Schema{Type: huma.TypeString, Description: "server-sent events: data is a LogMessage as JSON"}},
			},
		}},
	}, s.readLog)
}

type logInput struct {
	ID      string `path:"id" doc:"the task's id"`
	Attempt int    `query:"attempt" minimum:"0" doc:"its number; 0 is the newest"`
	Name    string `query:"name" enum:"runner,device,events" default:"runner" doc:"runner: what it wrote; device: the commands that passed to the device; events: the runner's events, one JSON value a line"`
	Offset  int64  `query:"offset" minimum:"0" doc:"how many bytes to leave out"`
	Follow  bool   `query:"follow" doc:"go on with what is written later"`

	Accept      string `header:"Accept" hidden:"true"`
	LastEventID string `header:"Last-Event-ID" pattern:"^[0-9]{1,6}:[0-9]{1,18}$" doc:"of server-sent events: ATTEMPT:OFFSET, where to go on; it wins over offset"`
}

func (s *Server) readLog(ctx context.Context, in *logInput) (*huma.StreamResponse, error) {
	if in.Follow || strings.Contains(in.Accept, eventStream) {
		return s.followLog(ctx, in)
	}
	log, err := s.control.Log(ctx, phonebooth.TaskID(in.ID), in.Attempt, in.Name, in.Offset)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer log.Close()
		_, w := humago.Unwrap(ctx)
		// The bytes are somebody else's: never to be taken for a page (nosniff is on every answer).
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		if err := s.copyTo(w, log); err != nil {
			s.log.Debug("log broke off", "request_id", requestOf(ctx.Context()).id, "err", err)
			panic(http.ErrAbortHandler) // a log that seems whole and is not would be worse
		}
	}}, nil
}

// copyTo streams r to a caller that takes each piece in time.
func (s *Server) copyTo(w http.ResponseWriter, r io.Reader) error {
	c := http.NewResponseController(w)
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Read(piece)
		if n > 0 {
			_ = c.SetWriteDeadline(time.Now().Add(s.opts.Slow))
			if _, err := w.Write(piece[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
