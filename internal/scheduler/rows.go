package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// rows are the rows around some placements as the store has them.
type rows struct {
	pos          int64 // every reservation is as of this position or later
	tasks        []phonebooth.Task
	gone         []phonebooth.TaskID
	failed       map[phonebooth.TaskID][]phonebooth.DeviceID
	hosts        map[phonebooth.HostID]phonebooth.Host
	devices      map[phonebooth.DeviceID]phonebooth.Device
	reservations map[phonebooth.DeviceID]*phonebooth.Reservation // nil: free
}

// read reads the rows of flight.
func read(ctx context.Context, r Reader, flight []planned) (rows, error) {
	got := rows{
		failed: map[phonebooth.TaskID][]phonebooth.DeviceID{}, hosts: map[phonebooth.HostID]phonebooth.Host{},
		devices:      map[phonebooth.DeviceID]phonebooth.Device{},
		reservations: map[phonebooth.DeviceID]*phonebooth.Reservation{},
	}
	head, err := r.Head(ctx)
	if err != nil {
		return got, fmt.Errorf("reading the head: %w", err)
	}
	got.pos = head.Pos
	for _, f := range flight {
		if err := got.readTask(ctx, r, f.TaskID); err != nil {
			return got, fmt.Errorf("reading task %s: %w", f.TaskID, err)
		}
		if f.device == nil {
			continue
		}
		if err := got.readDevice(ctx, r, f.HostID, f.DeviceID); err != nil {
			return got, fmt.Errorf("reading device %s: %w", f.DeviceID, err)
		}
	}
	return got, nil
}

func (got *rows) readTask(ctx context.Context, r Reader, id phonebooth.TaskID) error {
	t, err := r.Task(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		got.gone = append(got.gone, id)
		return nil
	}
	if err != nil {
		return err
	}
	got.tasks = append(got.tasks, t)
	if t.Status != phonebooth.Queued || t.Attempt == 0 {
		return nil
	}
	attempts, err := r.Attempts(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if !a.Live() {
			got.failed[id] = append(got.failed[id], a.DeviceID)
		}
	}
	return nil
}

func (got *rows) readDevice(ctx context.Context, r Reader, host phonebooth.HostID, id phonebooth.DeviceID) error {
	var err error
	if got.devices[id], err = r.Device(ctx, id); err != nil {
		return err
	}
	if _, known := got.hosts[host]; !known {
		if got.hosts[host], err = r.Host(ctx, host); err != nil {
			return err
		}
	}
	a, err := r.AttemptOnDevice(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		got.reservations[id] = nil
	case err != nil:
		return err
	default:
		got.reservations[id] = &phonebooth.Reservation{DeviceID: id, Attempt: a.AttemptKey, Since: a.AssignedAt}
	}
	return nil
}

// refresh takes over rows of tasks and devices that are in flight. What the index knows better stays.
func (x *index) refresh(got rows) {
	for _, h := range got.hosts {
		x.putHost(h)
	}
	for _, d := range got.devices {
		x.putDevice(d)
	}
	for id, r := range got.reservations {
		x.setReservation(id, r, got.pos)
	}
	for _, t := range got.tasks {
		if w := x.tasks[t.ID]; w != nil && t.Rev >= w.rev {
			x.setHistory(t, got.failed[t.ID])
			x.putTask(t)
		}
	}
	for _, id := range got.gone {
		x.dropTask(id)
	}
}
