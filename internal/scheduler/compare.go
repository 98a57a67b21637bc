package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// comparison is a look at whether index and store agree.
type comparison struct {
	counted  bool            // a difference is a fault; otherwise commits are known to be missing, and it is no surprise
	again    bool            // something went missing since it began: once more afterwards
	snapshot *store.Snapshot // nil while it is being read
	overdue  <-chan time.Time
}

// beginComparison reads the store once more. Rows that change from here on are not compared: the snapshot may be older or newer.
func (s *Scheduler) beginComparison(ctx context.Context, counted bool) {
	if s.comparison != nil {
		s.comparison.again = s.comparison.again || !counted
		return
	}
	s.comparison = &comparison{counted: counted}
	s.index.touched = map[string]bool{}
	s.calls.Go(func() {
		snapshot, err := s.reader.Snapshot(ctx)
		if err != nil {
			s.opts.Log.Warn("index and store cannot be compared", "error", err)
			wait(ctx, s.opts.RetryAfter)
			select {
			case s.compared <- nil:
			case <-ctx.Done():
			}
			return
		}
		select {
		case s.compared <- &snapshot:
		case <-ctx.Done():
		}
	})
}

// gotSnapshot takes the snapshot of a comparison. nil: it could not be read; when commits are missing, it is tried again.
func (s *Scheduler) gotSnapshot(ctx context.Context, snapshot *store.Snapshot) {
	if snapshot == nil {
		s.comparison.again = s.comparison.again || !s.comparison.counted
		s.endComparison(ctx)
		return
	}
	s.comparison.snapshot, s.comparison.overdue = snapshot, time.After(s.opts.RetryAfter)
}

// compare compares when everything that the snapshot holds has been applied, or is overdue.
func (s *Scheduler) compare(ctx context.Context, overdue bool) {
	c := s.comparison
	if c == nil || c.snapshot == nil || s.index.reach.UpTo() < c.snapshot.Pos && !overdue {
		return
	}
	late := s.opts.Followed && s.index.reach.UpTo() < c.snapshot.Pos // what another replica committed is still on its way
	s.mu.Lock()
	n := s.index.reconcile(*c.snapshot)
	s.index.reach.Jump(c.snapshot.Pos)
	s.mu.Unlock()
	switch {
	case n > 0 && c.counted && !late:
		s.opts.Log.Error("the index was not as the store; repaired", "rows", n)
		s.opts.OnDifference(n)
	case n > 0:
		s.opts.Log.Warn("commits were missing; the index has caught up", "rows", n)
	}
	c.again = c.again || late // rows that changed meanwhile were passed over, and what is on its way may be about them
	s.endComparison(ctx)
}

func (s *Scheduler) endComparison(ctx context.Context) {
	again := s.comparison.again
	s.comparison, s.index.touched = nil, nil
	if again {
		s.beginComparison(ctx, false)
	}
}

// overdue is when a comparison goes ahead though not everything was applied.
func (s *Scheduler) overdue() <-chan time.Time {
	if s.comparison == nil {
		return nil
	}
	return s.comparison.overdue
}

// reconcile makes every row that did not change since the comparison began as it is in snapshot, and counts those that were
// not. Of a host only what keeps its devices from taking tasks is compared: the rest changes without an event.
func (x *index) reconcile(snapshot store.Snapshot) (differences int) {
	touched := x.touched
	x.touched = nil
	for _, h := range snapshot.Hosts {
		if e := x.host(h.ID); !touched[string(h.ID)] && (!e.known || hostReason(e.row) != hostReason(h)) {
			differences++
			e.row.Rev = h.Rev - 1
			x.putHost(h)
		}
	}
	differences += x.reconcileDevices(snapshot, touched)
	return differences + x.reconcileTasks(snapshot, touched)
}

func (x *index) reconcileDevices(snapshot store.Snapshot, touched map[string]bool) (differences int) {
	reserved := make(map[phonebooth.DeviceID]*phonebooth.Reservation, len(snapshot.Reservations))
	for _, r := range snapshot.Reservations {
		reserved[r.DeviceID] = &r
	}
	for _, row := range snapshot.Devices {
		if touched[string(row.ID)] {
			continue
		}
		d, differs := x.device(row.ID), false
		if !d.known || d.row.Rev != row.Rev {
			differs = true
			older := *d.row
			older.Rev = row.Rev - 1
			d.row = &older
			x.putDevice(row)
		}
		if !sameHolder(d.reservation, reserved[row.ID]) {
			differs = true
			x.setReservation(row.ID, reserved[row.ID], max(snapshot.Pos, d.reservedPos))
		}
		if differs {
			differences++
		}
	}
	return differences
}

func (x *index) reconcileTasks(snapshot store.Snapshot, touched map[string]bool) (differences int) {
	queued := make(map[phonebooth.TaskID]bool, len(snapshot.Tasks))
	for _, t := range snapshot.Tasks {
		queued[t.ID] = true
		w := x.tasks[t.ID]
		if touched[string(t.ID)] || w != nil && w.queued && w.rev == t.Rev && x.sameHistory(t.ID, snapshot.Failed[t.ID]) {
			continue
		}
		differences++
		if w != nil {
			w.rev = t.Rev - 1
		}
		x.setHistory(t, snapshot.Failed[t.ID])
		x.putTask(t)
	}
	var stale []phonebooth.TaskID
	for id, w := range x.tasks {
		if w.queued && !queued[id] && !touched[string(id)] {
			stale = append(stale, id)
		}
	}
	for _, id := range stale {
		x.dropTask(id)
	}
	return differences + len(stale)
}

func sameHolder(a, b *phonebooth.Reservation) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Attempt == b.Attempt
}

// sameHistory compares without regard to order and repeats.
func (x *index) sameHistory(id phonebooth.TaskID, devices []phonebooth.DeviceID) bool {
	var known []phonebooth.DeviceID
	if h := x.histories[id]; h != nil {
		known = h.devices
	}
	for _, d := range devices {
		if !slices.Contains(known, d) {
			return false
		}
	}
	for _, d := range known {
		if !slices.Contains(devices, d) {
			return false
		}
	}
	return true
}
