package control

import (
	"context"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

const (
	overviewSpan     = time.Hour // of the past
	overviewFailures = 8
	overviewLanes    = 12
	overviewText     = 240 // characters of a reason or a message
	overviewBrief    = 100 // characters of a goal
)

// Overview is the pool at one glance.
func (c *Control) Overview(ctx context.Context) (v1.Overview, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return v1.Overview{}, answer(err, nil)
	}
	read, err := c.store.Overview(ctx, now.Add(-overviewSpan).Truncate(time.Minute), overviewFailures)
	if err != nil {
		return v1.Overview{}, answer(err, nil)
	}
	o := v1.Overview{
		At: now.UTC(), Pos: read.Pos, Tasks: v1.OverviewTasks{Queued: read.Queued}, Lanes: []v1.Lane{}, Hosts: []v1.OverviewHost{},
		Devices: []v1.OverviewDevice{}, Throughput: []v1.Minute{}, Failures: []v1.OverviewTask{},
	}
	if c.opts.Lanes != nil {
		lanes, count := c.opts.Lanes(overviewLanes)
		o.Lanes, o.LaneCount = append(o.Lanes, lanes...), count
	}
	addPool(&o, read)
	for _, m := range read.Minutes {
		o.Throughput = append(o.Throughput, v1.Minute{At: m.At, Done: m.Done, Failed: m.Failed, Cancelled: m.Cancelled})
		o.Tasks.Done, o.Tasks.Failed, o.Tasks.Cancelled = o.Tasks.Done+m.Done, o.Tasks.Failed+m.Failed, o.Tasks.Cancelled+m.Cancelled
	}
	for _, f := range read.Failures {
		o.Failures = append(o.Failures, v1.OverviewTask{
			TaskID: string(f.ID), Brief: briefOf(f.Brief), DeviceID: string(f.DeviceID), Attempt: f.Attempt,
			Failure: v1.Failure{Code: f.Failure.Code, Message: cut(f.Failure.Message, overviewText)}, FinishedAt: f.FinishedAt.UTC(),
		})
	}
	return o, nil
}

// addPool adds the hosts that were not removed, their devices and what runs on those.
func addPool(o *v1.Overview, read store.Overview) {
	hosts, running := map[phonebooth.HostID]phonebooth.Host{}, map[phonebooth.DeviceID]store.Running{}
	for _, r := range read.Running {
		running[r.DeviceID] = r
		if r.State == phonebooth.AttemptDispatched {
			o.Tasks.Dispatched++
		} else {
			o.Tasks.Assigned++
		}
	}
	for _, h := range read.Hosts {
		if h.RemovedAt.IsZero() {
			hosts[h.ID] = h
		}
	}
	busy := map[phonebooth.HostID]int{}
	for _, d := range read.Devices {
		h, ok := hosts[d.HostID]
		if !ok {
			continue
		}
		r, held := running[d.ID]
		if held {
			busy[h.ID]++
		}
		o.Devices = append(o.Devices, overviewDevice(d, h, r, held))
	}
	for _, h := range read.Hosts {
		if h.RemovedAt.IsZero() {
			w := v1.HostOf(h, 0, busy[h.ID])
			o.Hosts = append(o.Hosts, v1.OverviewHost{ID: w.ID, Name: w.Name, State: w.State})
		}
	}
}

func overviewDevice(d phonebooth.Device, h phonebooth.Host, r store.Running, held bool) v1.OverviewDevice {
	var reservation *phonebooth.Reservation
	if held {
		reservation = &phonebooth.Reservation{DeviceID: d.ID, Attempt: r.AttemptKey, Since: r.AssignedAt}
	}
	w := v1.OverviewDevice{
		ID: string(d.ID), Name: d.Name, HostID: string(d.HostID), DriverType: d.DriverType, Unavailable: string(d.Available(h, reservation)),
	}
	since := d.ConditionSince
	switch phonebooth.Reason(w.Unavailable) {
	case phonebooth.ReasonReserved:
		since = r.AssignedAt
		if !r.DispatchedAt.IsZero() {
			since = r.DispatchedAt
		}
		w.Run = &v1.OverviewRun{
			TaskID: string(r.TaskID), Attempt: r.Number, State: string(r.State), Brief: briefOf(r.Brief), LeaseExpiresAt: r.ExpiresAt.Truncate(time.Second).UTC(),
			CancelRequested: r.CancelRequested,
		}
	case phonebooth.ReasonCordon, phonebooth.ReasonQuarantine:
		since, w.Reason = d.HoldSince, cut(d.HoldReason, overviewText)
	case phonebooth.ReasonDraining:
		since = h.DrainingSince
	case phonebooth.ReasonSilent:
		since = h.SilentSince
	case phonebooth.ReasonDeaf:
		since, w.Reason = h.DeafSince, cut(h.DeafReason, overviewText)
	default:
		w.Reason = cut(d.ConditionReason, overviewText)
	}
	if !since.IsZero() {
		since = since.Truncate(time.Second).UTC() // a thousand times a few digits
		w.Since = &since
	}
	return w
}

// briefOf is what people see of a task: the workflow's name, or the beginning of the goal in one line.
func briefOf(b store.Brief) string {
	if b.Workflow != "" {
		return b.Workflow
	}
	return cut(strings.Join(strings.Fields(b.Goal), " "), overviewBrief)
}

// cut is the beginning of a text, so many characters.
func cut(s string, limit int) string {
	n := 0
	for at := range s {
		if n++; n > limit {
			return s[:at]
		}
	}
	return s
}
