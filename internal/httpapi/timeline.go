package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

// Timelines tell what happened on devices.
type Timelines interface {
	Timeline(ctx context.Context, q control.TimelineQuery) (control.Timeline, error)
}

func (s *Server) registerTimeline() {
	add(s, call{
		method: http.MethodGet, path: v1.PathTimeline, id: "read-timeline", tag: "pool", access: onlyAdmin,
		summary: "Read what devices did in a span of time",
		description: "A row a device: its attempts, and the stretches in which it was cleaned, offline, unhealthy, unconfirmed, cordoned or " +
			"quarantined, or its host silent or draining, rebuilt from the record. Attempts of a device that begin within a columns-th of the " +
			"span and ended alike come as one bar with their count, so that an answer stays as small as a screen is.",
	}, s.timeline)
}

type timelineInput struct {
	From     time.Time `query:"from" doc:"RFC 3339; left out: an hour before to"`
	To       time.Time `query:"to" doc:"left out: now. At most 14 days after from"`
	DeviceID []string  `query:"device_id,explode" maxItems:"100" doc:"of these only; repeat it for several"`
	After    string    `query:"after" doc:"next of the page before"`
	Limit    int       `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"devices of a page"`
	Columns  int       `query:"columns" minimum:"10" maximum:"600" default:"300" doc:"into how many parts the span is divided; what lies in one may be told together"`
}

type timelineOutput struct{ Body v1.Timeline }

func (s *Server) timeline(ctx context.Context, in *timelineInput) (*timelineOutput, error) {
	q := control.TimelineQuery{From: in.From, To: in.To, After: phonebooth.DeviceID(in.After), Limit: in.Limit, Columns: in.Columns}
	for _, id := range in.DeviceID {
		q.Devices = append(q.Devices, phonebooth.DeviceID(id))
	}
	line, err := s.control.Timeline(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &timelineOutput{Body: v1.Timeline{
		From: line.From.UTC(), To: line.To.UTC(), Now: line.Now.UTC(), FoldMS: line.Fold.Milliseconds(), Devices: line.Devices,
		Rows: []v1.TimelineRow{}, Next: string(line.Next),
	}}
	for _, r := range line.Rows {
		out.Body.Rows = append(out.Body.Rows, wireRow(r))
	}
	return out, nil
}

func wireRow(r control.TimelineRow) v1.TimelineRow {
	row := v1.TimelineRow{
		DeviceID: string(r.Device.ID), Name: r.Device.Name, HostID: string(r.Host.ID), Host: r.Host.Name,
		RegisteredAt: r.Device.RegisteredAt.UTC(), Bars: []v1.TimelineBar{}, Stretches: []v1.TimelineStretch{},
	}
	for _, b := range r.Bars {
		bar := v1.TimelineBarOf(b.Key, b.Begin, b.Started, b.End, b.Ending, b.Count)
		bar.Goal, bar.Workflow = v1.ShortGoal(b.Goal), b.Workflow
		if b.Count == 1 {
			bar.Code = b.Code
		}
		row.Bars = append(row.Bars, bar)
	}
	for _, x := range r.Stretches {
		row.Stretches = append(row.Stretches, v1.TimelineStretchOf(x.Track, x.State, x.Reason, x.Begin, x.End, x.Count))
	}
	return row
}
