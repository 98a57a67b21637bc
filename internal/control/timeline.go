package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Limits of a timeline: what one answer may hold.
const (
	MaxTimelineSpan    = 14 * 24 * time.Hour
	MaxTimelineDevices = 100
	MaxTimelineColumns = 600
)

// TimelineQuery asks what devices did and suffered, from From until To. A zero To is now, a zero From an hour before To.
type TimelineQuery struct {
	From, To time.Time
	Devices  []phonebooth.DeviceID // these; empty: all, a page at a time
	After    phonebooth.DeviceID   // the last device of the page before
	Limit    int                   // devices of a page; 0: MaxTimelineDevices
	Columns  int                   // into how many folds the span is divided; 0: 300
}

// Timeline is the answer: a row a device.
type Timeline struct {
	From, To time.Time
	Now      time.Time // by the store's clock
	Fold     time.Duration
	Devices  int // in the whole pool
	Rows     []TimelineRow
	Next     phonebooth.DeviceID // the next page is after it; "": there is none
}

// TimelineRow is one device's.
type TimelineRow struct {
	Device    phonebooth.Device
	Host      phonebooth.Host
	Bars      []store.Bar // by begin
	Stretches []Stretch   // by begin
}

// Timeline reads what happened on devices in a span of time.
func (c *Control) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return Timeline{}, answer(err, nil)
	}
	if q, err = q.complete(now); err != nil {
		return Timeline{}, err
	}
	pool, err := c.Pool(ctx)
	if err != nil {
		return Timeline{}, err
	}
	line := Timeline{From: q.From, To: q.To, Now: now, Devices: len(pool.Devices), Fold: q.To.Sub(q.From) / time.Duration(q.Columns)}
	devices, more, err := q.page(pool.Devices)
	if err != nil {
		return Timeline{}, err
	}
	ask := store.TimelineQuery{From: q.From, To: q.To, Fold: line.Fold}
	for _, d := range devices {
		ask.Devices = append(ask.Devices, d.ID)
		if !slices.Contains(ask.Hosts, d.HostID) {
			ask.Hosts = append(ask.Hosts, d.HostID)
		}
	}
	if more {
		line.Next = devices[len(devices)-1].ID
	}
	found, err := c.store.Timeline(ctx, ask)
	if err != nil {
		return Timeline{}, answer(err, nil)
	}
	bars := map[phonebooth.DeviceID][]store.Bar{}
	for _, b := range found.Bars {
		bars[b.DeviceID] = append(bars[b.DeviceID], b)
	}
	told := stretchesOf(found)
	for _, d := range devices {
		h := pool.Hosts[d.HostID]
		line.Rows = append(line.Rows, TimelineRow{Device: d, Host: h, Bars: bars[d.ID], Stretches: told.of(d, h, q.From, q.To)})
	}
	return line, nil
}

// complete fills in what was left out, or says what makes no sense.
func (q TimelineQuery) complete(now time.Time) (TimelineQuery, error) {
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-time.Hour)
	}
	q.Limit, q.Columns = cmp.Or(q.Limit, MaxTimelineDevices), cmp.Or(q.Columns, 300)
	switch {
	case !q.From.Before(q.To):
		return q, phonebooth.Errorf(phonebooth.Invalid, "invalid", "from must be before to").With("pointer", "from")
	case q.To.Sub(q.From) > MaxTimelineSpan:
		return q, phonebooth.Errorf(phonebooth.Invalid, "invalid", "a timeline spans at most %d days", int(MaxTimelineSpan.Hours()/24)).With("pointer", "from")
	case len(q.Devices) > MaxTimelineDevices:
		return q, phonebooth.Errorf(phonebooth.Invalid, "invalid", "name at most %d devices", MaxTimelineDevices).With("pointer", "device_id")
	}
	return q, nil
}

// page is what the query chooses of all devices, and whether there is more. Pages follow the order of registration.
func (q TimelineQuery) page(all []phonebooth.Device) (page []phonebooth.Device, more bool, err error) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b phonebooth.Device) int {
		return cmp.Or(a.RegisteredAt.Compare(b.RegisteredAt), cmp.Compare(a.ID, b.ID))
	})
	if len(q.Devices) > 0 {
		return slices.DeleteFunc(all, func(d phonebooth.Device) bool { return !slices.Contains(q.Devices, d.ID) }), false, nil
	}
	if q.After != "" {
		i := slices.IndexFunc(all, func(d phonebooth.Device) bool { return d.ID == q.After })
		if i < 0 {
			return nil, false, phonebooth.Errorf(phonebooth.Invalid, "invalid", "the device of the page before has left the pool; begin anew").With("pointer", "after")
		}
		all = all[i+1:]
	}
	if len(all) > q.Limit {
		return all[:q.Limit], true, nil
	}
	return all, false, nil
}
