package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// planned is a task in flight, with its device.
type planned struct {
	lifecycle.Placement
	task   *waiting
	device *deviceRow // nil when only the task is kept back
	rev    int64      // of the task when it was planned
}

// answer ends a flight: each of it has been placed, refused, or read again.
type answer struct {
	flight  []planned
	errs    []error // of the placements, nil when there were none
	rows    rows    // as the store has them now, of those that were not placed
	awaited bool    // Idle waits for it
}

// pass makes one plan and sends it off, if this replica leads. There is one only when a lane has both a task and an idle
// device.
func (s *Scheduler) pass(ctx context.Context) {
	if s.standby.Load() {
		return
	}
	view := s.index.view()
	if len(view.Lanes) == 0 {
		return
	}
	plan := s.strategy.Plan(view)
	flight := make([]planned, 0, len(plan))
	s.mu.Lock()
	for _, p := range plan {
		if f, ok := s.index.begin(p); ok {
			f.LeaseID, f.Strategy = newLeaseID(), s.name
			flight = append(flight, f)
		}
	}
	s.mu.Unlock()
	if len(flight) < len(plan) {
		s.opts.Log.Warn("the strategy planned what its view did not offer", "strategy", s.name, "placements", len(plan)-len(flight))
	}
	if len(flight) > 0 {
		s.send(ctx, flight)
	}
}

// begin puts the task and the device of p in flight, when both are free and match.
func (x *index) begin(p strategy.Placement) (planned, bool) {
	w, d := x.tasks[p.TaskID], x.devices[p.DeviceID]
	if w == nil || !w.queued || w.busy || d == nil || !d.idle || w.lane.constraints.Match(*d.row) != phonebooth.Matches {
		return planned{}, false
	}
	x.setBusy(w, true)
	x.setDeviceBusy(d, true)
	return planned{
		Placement: lifecycle.Placement{TaskID: w.id, DeviceID: d.row.ID, HostID: d.row.HostID}, task: w, device: d, rev: w.rev,
	}, true
}

// send asks for the placements of flight; the answer comes back to Run, with the rows of those that were not placed.
func (s *Scheduler) send(ctx context.Context, flight []planned) {
	s.expect()
	placements := make([]lifecycle.Placement, len(flight))
	for i, f := range flight {
		placements[i] = f.Placement
	}
	s.calls.Go(func() {
		a := answer{flight: flight, errs: s.place(ctx, placements), awaited: true}
		var again []planned
		var pause time.Duration
		for i, err := range a.errs {
			if err == nil {
				continue
			}
			again = append(again, flight[i])
			if !refused(err) {
				pause = s.opts.RetryAfter
			}
		}
		if s.readAgain(ctx, &a, again, pause) {
			s.deliver(ctx, a)
		}
	})
}

// refused reports whether err is a verdict on the rows; anything else is trouble with the store.
func refused(err error) bool {
	e, ok := errors.AsType[*phonebooth.Error](err)
	return ok && (e.Kind == phonebooth.Conflict || e.Kind == phonebooth.NotFound)
}

// settle takes over an answer: what was placed is known from the feed by now, and what was not may be planned again.
func (s *Scheduler) settle(ctx context.Context, a answer) {
	s.follow(ctx)
	if a.awaited {
		s.unanswered--
	}
	s.mu.Lock()
	s.index.refresh(a.rows)
	var held []planned
	for i, f := range a.flight {
		if f.device != nil {
			s.index.setDeviceBusy(f.device, false)
		}
		if a.errs != nil && f.task.queued && f.task.rev == f.rev && f.puzzling(a.errs[i]) {
			f.device = nil
			held = append(held, f)
			continue
		}
		s.index.setBusy(f.task, false)
	}
	s.mu.Unlock()
	for i, err := range a.errs {
		if err != nil {
			s.opts.Log.Debug("placement not made", "task_id", a.flight[i].TaskID, "device_id", a.flight[i].DeviceID, "error", err)
		}
	}
	if len(held) > 0 {
		s.lookAgain(ctx, held, s.opts.RetryAfter, false)
	}
}

// puzzling reports whether the index still believes in f after its answer. Planning it again at once would get the same
// answer again and again: the queue timeout of a task may have passed while the sweep has not seen it yet.
func (f planned) puzzling(err error) bool {
	return err == nil || refused(err) && f.device.idle
}

// lookAgain reads the rows of flight after a pause; until then it is in no plan.
func (s *Scheduler) lookAgain(ctx context.Context, flight []planned, pause time.Duration, awaited bool) {
	if awaited {
		s.expect()
	}
	s.calls.Go(func() {
		a := answer{flight: flight, awaited: awaited}
		if s.readAgain(ctx, &a, flight, pause) {
			s.deliver(ctx, a)
		}
	})
}

// readAgain reads the rows of flight into a, however long the store is away; false when ctx has ended.
func (s *Scheduler) readAgain(ctx context.Context, a *answer, flight []planned, pause time.Duration) bool {
	for len(flight) > 0 {
		if !wait(ctx, pause) {
			return false
		}
		var err error
		if a.rows, err = read(ctx, s.reader, flight); err == nil {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		s.opts.Log.Warn("the rows of placements cannot be read", "placements", len(flight), "error", err)
		pause = s.opts.RetryAfter
	}
	return true
}

func (s *Scheduler) expect() {
	s.unanswered++
	s.feed.stir()
}

func (s *Scheduler) deliver(ctx context.Context, a answer) {
	select {
	case s.answers <- a:
	case <-ctx.Done():
	}
}

// wait pauses; false when ctx ends first.
func wait(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
