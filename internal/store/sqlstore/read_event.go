package sqlstore

import (
	"context"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Head is the head row.
func (s *Store) Head(ctx context.Context) (head store.Head, err error) {
	err = s.engine.read(ctx, readHead(&head, ""))
	return head, err
}

// Leader is which replica schedules and sweeps, as it was written last.
func (s *Store) Leader(ctx context.Context) (leader lifecycle.Leader, err error) {
	err = s.engine.read(ctx, readLeader(&leader, ""))
	return leader, err
}

func readLeader(leader *lifecycle.Leader, lock string) step {
	return step{
		text: "SELECT l.holder, l.term, l.until FROM leader l WHERE l.id = 1" + lock,
		row:  func(read scanner) error { return read(text(&leader.Holder), number(&leader.Term), at(&leader.Until)) },
	}
}

// Snapshot reads what the scheduler's index needs, all as of one position.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap := store.Snapshot{Failed: map[phonebooth.TaskID][]phonebooth.DeviceID{}}
	var head store.Head
	err := s.engine.read(ctx,
		readHead(&head, ""),
		every(&snap.Tasks, scanQueued, "SELECT "+taskTable.list+" FROM tasks t WHERE t.status = 'queued' ORDER BY t.seq"),
		every(&snap.Devices, scanDevice, selectDevices+" ORDER BY d.registered_at, d.id"),
		every(&snap.Hosts, scanHost, selectHosts+" ORDER BY h.registered_at, h.id"),
		every(&snap.Reservations, scanReservation, selectReservations+" ORDER BY r.since, r.device_id"),
		step{
			text: "SELECT a.task_id, a.device_id FROM tasks t JOIN attempts a ON a.task_id = t.id" +
				" WHERE t.status = 'queued' AND t.attempt > 0 AND a.state = 'ended' ORDER BY t.seq, a.number",
			row: func(read scanner) error {
				var task phonebooth.TaskID
				var device phonebooth.DeviceID
				err := read(text(&task), text(&device))
				if !slices.Contains(snap.Failed[task], device) {
					snap.Failed[task] = append(snap.Failed[task], device)
				}
				return err
			},
		},
	)
	snap.Pos = head.Pos
	return snap, err
}

// scanQueued reads a task that has no live attempt.
func scanQueued(read scanner) (phonebooth.Task, error) { return taskTable.scan(read, nil) }

// Due lists what may be due, the longest overdue first, at most limit of each sort.
func (s *Store) Due(ctx context.Context, times store.DueTimes, limit int) (store.Due, error) {
	var due store.Due
	var steps []step
	n := int64(limit)
	if !times.Assigned.IsZero() {
		steps = append(steps, every(&due.Attempts, scanAttempt, selectAttempts+
			" WHERE a.state <> 'ended' AND a.state = 'assigned' AND a.expires_at <= $1 ORDER BY a.expires_at LIMIT $2", micros(times.Assigned), n))
	}
	if !times.Dispatched.IsZero() {
		steps = append(steps, every(&due.Attempts, scanAttempt, selectAttempts+
			" WHERE a.state <> 'ended' AND a.state = 'dispatched' AND a.expires_at <= $1 ORDER BY a.expires_at LIMIT $2", micros(times.Dispatched), n))
	}
	if !times.Queue.IsZero() {
		steps = append(steps, every(&due.Tasks, scanID[phonebooth.TaskID], "SELECT t.id FROM tasks t WHERE t.status = 'queued'"+
			" AND t.queue_deadline > 0 AND t.queue_deadline <= $1 ORDER BY t.queue_deadline LIMIT $2", micros(times.Queue), n))
	}
	if !times.Heard.IsZero() {
		steps = append(steps, every(&due.Silent, scanID[phonebooth.HostID], "SELECT h.id FROM hosts h WHERE h.removed_at = 0"+
			" AND h.silent_since = 0 AND h.heard_at <= $1 ORDER BY h.heard_at LIMIT $2", micros(times.Heard), n))
	}
	if !times.Polled.IsZero() {
		steps = append(steps, every(&due.Deaf, scanID[phonebooth.HostID], "SELECT h.id FROM hosts h WHERE h.removed_at = 0"+
			" AND h.deaf_since = 0 AND h.polled_at <= $1 ORDER BY h.polled_at LIMIT $2", micros(times.Polled), n))
	}
	if len(steps) == 0 {
		return due, nil
	}
	err := s.engine.read(ctx, steps...)
	return due, err
}

func scanID[T ~string](read scanner) (id T, err error) {
	err = read(text(&id))
	return id, err
}
