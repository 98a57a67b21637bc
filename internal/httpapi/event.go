package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func (s *Server) registerEvents() {
	content := s.jsonOf(v1.EventList{})
	content[eventStream] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "server-sent events: id is the position, event the kind, data an Event as JSON; beside them " +
			"pruned and dropped, whose data is a Notice",
	}}
	s.jsonOf(v1.Notice{})
	add(s, call{
		method: http.MethodGet, path: v1.PathEvents, id: "read-events", tag: "events", access: onlyAdmin,
		summary: "Read or follow the record",
		description: "A page of events, oldest first. One call looks at a bounded part of the record: a page may be short, or empty, and the " +
			"next one is asked for as long as it says more.\n\nWith Accept: text/event-stream the record is followed instead: events as they " +
			"are committed, a comment every 15 seconds, and Last-Event-ID to go on where a stream broke off. A reader that does not take " +
			"what is sent to it is dropped, by a message dropped if it takes that. Where retention has removed what is asked for, a message " +
			"pruned says so, and the stream goes on with what there is.",
		codes:     []string{"position_ahead", "position_pruned"},
		responses: map[string]*huma.Response{"200": {Description: "Events", Content: content}},
	}, s.readEvents)
}

const eventStream = "text/event-stream"

type eventsInput struct {
	After       int64     `query:"after" minimum:"-1" default:"-1" doc:"events behind this position, 0 is the beginning of what there is; left out: a page begins with the first, a stream with the next"`
	Order       string    `query:"order" enum:"oldest,newest" default:"oldest" doc:"of a page: newest gives the newest first, and takes before instead of after"`
	Before      int64     `query:"before" minimum:"0" doc:"of a page whose order is newest: events below this position; left out: from the newest"`
	Since       time.Time `query:"since" doc:"instead of after: begin with the first event then or later"`
	TaskID      string    `query:"task_id"`
	DeviceID    string    `query:"device_id"`
	HostID      string    `query:"host_id"`
	Kind        []string  `query:"kind" maxItems:"64" doc:"any of these, separated by commas: task.done, or task.* for all of tasks"`
	Label       []string  `query:"label,explode" maxItems:"32" doc:"of the event's task: KEY or KEY=VALUE; given several times, all must match"`
	Limit       int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of a page"`
	Accept      string    `header:"Accept" hidden:"true"`
	LastEventID int64     `header:"Last-Event-ID" minimum:"0" doc:"of a stream: the id of the last event that was read; it wins over after"`
}

// filter are the events that are asked for, whatever their position.
func (in *eventsInput) filter() (f store.EventFilter, err error) {
	f = store.EventFilter{
		TaskID: phonebooth.TaskID(in.TaskID), DeviceID: phonebooth.DeviceID(in.DeviceID), HostID: phonebooth.HostID(in.HostID),
	}
	if f.Labels, err = parseLabels(in.Label); err != nil {
		return f, err
	}
	f.Kinds, err = parseKinds(in.Kind)
	return f, err
}

// parseKinds are the kinds that are asked for by name or as task.*.
func parseKinds(asked []string) (kinds []phonebooth.EventKind, err error) {
	known := phonebooth.EventKinds()
	for _, text := range asked {
		group, all := strings.CutSuffix(text, "*")
		found := false
		for _, kind := range known {
			if all && strings.HasSuffix(group, ".") && strings.HasPrefix(string(kind), group) || string(kind) == text {
				kinds, found = append(kinds, kind), true
			}
		}
		if !found {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid",
				"there is no such kind of event; there are: %s, and task.* and the like for all of one sort", listed(known)).With("pointer", "kind")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}

func listed(kinds []phonebooth.EventKind) string {
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	return strings.Join(words, ", ")
}

func (s *Server) readEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	if in.Before > 0 && in.Order != "newest" {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "before goes with order=newest").With("pointer", "before")
	}
	if strings.Contains(in.Accept, eventStream) {
		return s.followEvents(ctx, in, filter)
	}
	if filter.After = max(in.After, 0); in.After < 0 && !in.Since.IsZero() {
		if filter.After, err = s.control.EventSince(ctx, in.Since); err != nil {
			return nil, err
		}
	}
	filter.Limit, filter.Newest, filter.Before = in.Limit, in.Order == "newest", in.Before
	page, err := s.control.EventPage(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := v1.EventList{Events: []v1.Event{}, Next: page.Next, More: page.More, Oldest: page.Span.Oldest}
	for _, e := range page.Events {
		list.Events = append(list.Events, v1.EventOf(e))
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/json")
		_ = huma.DefaultJSONFormat.Marshal(w, list) // to a caller that may be gone
	}}, nil
}

// followEvents finds where a stream begins.
func (s *Server) followEvents(ctx context.Context, in *eventsInput, filter store.EventFilter) (*huma.StreamResponse, error) {
	span, err := s.control.EventSpan(ctx)
	if err != nil {
		return nil, err
	}
	after := in.After
	switch {
	case in.LastEventID > 0:
		after = in.LastEventID
	case after < 0 && !in.Since.IsZero():
		if after, err = s.control.EventSince(ctx, in.Since); err != nil {
			return nil, err
		}
	case after < 0:
		after = span.Newest
	}
	if after == 0 {
		after = span.Oldest - 1
	}
	if err := control.CheckPosition(after, span); err != nil && phonebooth.CodeOf(err) != "position_pruned" {
		return nil, err // what is pruned is told by the stream itself: a browser sees no more of a refusal than that it is one
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		err := s.stream(r.Context(), w, filter, after, span.Oldest)
		s.log.Debug("event stream ended", "request_id", requestOf(r.Context()).id, "err", err)
	}}, nil
}
