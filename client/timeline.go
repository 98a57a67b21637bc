package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// TimelineQuery chooses a span of time and devices. The zero value is the last hour of all devices, a page at a time.
type TimelineQuery struct {
	From, To  time.Time // zero: an hour before To; now
	DeviceIDs []string  // empty: all
	After     string    // Next of the page before
	Limit     int       // devices of a page; 0: the server's default, 100
	Columns   int       // into how many parts the span is divided; 0: the server's default, 300
}

// Timeline is what devices did and suffered in a span of time.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery) (line v1.Timeline, err error) {
	query := url.Values{}
	for name, at := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	for name, n := range map[string]int{"limit": q.Limit, "columns": q.Columns} {
		if n != 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	query["device_id"] = q.DeviceIDs
	set(query, "after", q.After)
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "timeline"}, query: query, safe: true}, &line)
	return line, err
}
