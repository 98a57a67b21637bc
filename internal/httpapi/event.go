package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func (s *Server) registerEvents() {
	content := s.jsonOf(v1.EventList{})
	content[eventStream] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "server-sent events: id is the position, event the kind, data an Event as JSON",
	}}
	add(s, call{
		method: http.MethodGet, path: v1.PathEvents, id: "read-events", tag: "events", access: onlyAdmin,
		summary: "Read or follow the record",
		description: "A page of events, oldest first. With Accept: text/event-stream the record is followed instead: events as they are " +
			"committed, a comment every 15 seconds, and Last-Event-ID to go on where a stream broke off. A reader that does not take " +
			"what is sent to it is dropped.",
		responses: map[string]*huma.Response{"200": {Description: "Events", Content: content}},
	}, s.readEvents)
}

const eventStream = "text/event-stream"

type eventsInput struct {
	After       int64  `query:"after" minimum:"-1" default:"-1" doc:"events behind this position; left out: a page begins with the first, a stream with the next"`
	TaskID      string `query:"task_id"`
	DeviceID    string `query:"device_id"`
	HostID      string `query:"host_id"`
	Kind        string `query:"kind" doc:"such as task.done"`
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of a page"`
	Accept      string `header:"Accept" hidden:"true"`
	LastEventID int64  `header:"Last-Event-ID" minimum:"0" doc:"of a stream: the id of the last event that was read; it wins over after"`
}

// filter are the events that are asked for, whatever their position.
func (in *eventsInput) filter() store.EventFilter {
	return store.EventFilter{
		TaskID: phonebooth.TaskID(in.TaskID), DeviceID: phonebooth.DeviceID(in.DeviceID), HostID: phonebooth.HostID(in.HostID),
		Kind: phonebooth.EventKind(in.Kind),
	}
}

func (s *Server) readEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if kinds := phonebooth.EventKinds(); in.Kind != "" && !slices.Contains(kinds, phonebooth.EventKind(in.Kind)) {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "there is no such kind of event; there are: %v", kinds).With("pointer", "kind")
	}
	if strings.Contains(in.Accept, eventStream) {
		return s.followEvents(ctx, in)
	}
	filter := in.filter()
	filter.After, filter.Limit = max(in.After, 0), in.Limit
	events, err := s.control.Events(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := v1.EventList{Events: []v1.Event{}, Next: filter.After}
	for _, e := range events {
		list.Events = append(list.Events, v1.EventOf(e))
		list.Next = e.Pos
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/json")
		_ = huma.DefaultJSONFormat.Marshal(w, list) // to a caller that may be gone
	}}, nil
}

// followEvents finds where a stream begins.
func (s *Server) followEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	after := in.After
	switch {
	case in.LastEventID > 0:
		after = in.LastEventID
	case after < 0:
		head, err := s.record.Head(ctx)
		if err != nil {
			return nil, phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the database is not available; try again").Because(err)
		}
		after = head.Pos
	}
	filter := in.filter()
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		err := s.stream(r.Context(), w, filter, after)
		s.log.Debug("event stream ended", "request_id", requestOf(r.Context()).id, "err", err)
	}}, nil
}
