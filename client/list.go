package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// TaskQuery chooses tasks: all its terms must match. The zero value is the newest of all.
type TaskQuery struct {
	Status       []string  // any of these; empty: any
	DeviceID     string    // on it now or last
	HostID       string    // on it now or last
	Labels       []string  // KEY or KEY=VALUE; all of them
	Workflow     string    // NAME or NAME@VERSION
	DriverTypes  []string  // any of these, of the constraints
	CreatedSince time.Time // submitted then or later
	CreatedUntil time.Time // submitted before
	Text         string    // in the goal
	Cursor       string    // Next of the page before
	Limit        int       // of a page; 0: the server's default, 50
}

// Tasks is a page of tasks, newest submission first. A page may be short, or empty: there are more as long as it has Next.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) (list v1.TaskList, err error) {
	query := url.Values{}
	set(query, "status", strings.Join(q.Status, ","))
	set(query, "device_id", q.DeviceID)
	set(query, "host_id", q.HostID)
	set(query, "workflow", q.Workflow)
	set(query, "driver_type", strings.Join(q.DriverTypes, ","))
	setTime(query, "created_since", q.CreatedSince)
	setTime(query, "created_until", q.CreatedUntil)
	set(query, "text", q.Text)
	set(query, "cursor", q.Cursor)
	for _, term := range q.Labels {
		query.Add("label", term)
	}
	setLimit(query, q.Limit)
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks"}, query: query, safe: true}, &list)
	return list, err
}

// DeviceQuery chooses devices: all its terms must match. The zero value is the first of all.
type DeviceQuery struct {
	DriverTypes []string // any of these
	Tags        []string // all of them
	HostID      string
	Conditions  []string // any of these
	Holds       []string // any of none, cordoned, quarantined
	States      []string // any of idle, busy, unavailable
	Text        string   // in the name, the id, the host's name, the tags or the attributes
	Cursor      string   // Next of the page before
	Limit       int      // of a page; 0: the server's default, 500
}

// DevicePage is a page of devices, the oldest registration first; there are more as long as it has Next.
func (c *Client) DevicePage(ctx context.Context, q DeviceQuery) (list v1.DeviceList, err error) {
	query := url.Values{}
	set(query, "driver_type", strings.Join(q.DriverTypes, ","))
	for _, tag := range q.Tags {
		query.Add("tag", tag)
	}
	set(query, "host_id", q.HostID)
	set(query, "condition", strings.Join(q.Conditions, ","))
	set(query, "hold", strings.Join(q.Holds, ","))
	set(query, "state", strings.Join(q.States, ","))
	set(query, "text", q.Text)
	set(query, "cursor", q.Cursor)
	setLimit(query, q.Limit)
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "devices"}, query: query, safe: true}, &list)
	return list, err
}

// maxDevicePage is how many devices the server gives at once.
const maxDevicePage = 1000

// Devices lists the devices of the pool, all of them.
func (c *Client) Devices(ctx context.Context) ([]v1.Device, error) {
	return c.DevicesOf(ctx, DeviceQuery{})
}

// DevicesOf lists all devices that q chooses, from its cursor on.
func (c *Client) DevicesOf(ctx context.Context, q DeviceQuery) ([]v1.Device, error) {
	q.Limit = maxDevicePage
	all := []v1.Device{}
	for {
		page, err := c.DevicePage(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Devices...)
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

func setTime(query url.Values, name string, at time.Time) {
	if !at.IsZero() {
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

func setLimit(query url.Values, limit int) {
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}
