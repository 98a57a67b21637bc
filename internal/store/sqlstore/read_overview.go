package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

var (
	brief         = fmt.Sprintf("SUBSTR(t.goal, 1, %d), t.workflow", store.BriefGoal)
	selectRunning = "SELECT a.task_id, a.number, a.device_id, a.state, a.assigned_at, a.dispatched_at, a.expires_at, t.cancel_requested_at, " +
		brief + " FROM attempts a JOIN tasks t ON t.id = a.task_id WHERE a.state <> 'ended'"
	selectMinutes = "SELECT t.finished_at / 60000000, t.status, COUNT(*) FROM tasks t WHERE t.finished_at > 0 AND t.finished_at >= $1" +
		" GROUP BY t.finished_at / 60000000, t.status ORDER BY t.finished_at / 60000000, t.status"
	selectFailures = "SELECT t.id, t.device_id, t.attempt, t.failure_code, t.failure_message, t.finished_at, " + brief +
		" FROM tasks t WHERE t.status = 'failed' ORDER BY t.finished_at DESC LIMIT $1"
)

// Overview reads everything that one look at the whole needs: the minutes since a time, and the last so many failures.
func (s *Store) Overview(ctx context.Context, since time.Time, failures int) (store.Overview, error) {
	var o store.Overview
	var head store.Head
	err := s.engine.read(ctx,
		readHead(&head, ""),
		every(&o.Hosts, scanHost, selectHosts+" ORDER BY h.registered_at, h.id"),
		every(&o.Devices, scanDevice, selectDevices+" ORDER BY d.registered_at, d.id"),
		every(&o.Running, scanRunning, selectRunning),
		minutes(&o.Minutes, since),
		every(&o.Failures, scanFailed, selectFailures, int64(failures)),
	)
	o.Pos, o.Queued = head.Pos, head.Queued
	slices.SortFunc(o.Running, func(a, b store.Running) int { // by the database it would walk along all attempts there ever were
		return cmp.Or(cmp.Compare(a.DeviceID, b.DeviceID), cmp.Compare(a.TaskID, b.TaskID))
	})
	return o, err
}

func scanRunning(read scanner) (r store.Running, err error) {
	var cancelled time.Time
	err = read(text(&r.TaskID), number(&r.Number), text(&r.DeviceID), text(&r.State), at(&r.AssignedAt), at(&r.DispatchedAt), at(&r.ExpiresAt),
		at(&cancelled), text(&r.Brief.Goal), text(&r.Brief.Workflow))
	r.CancelRequested = !cancelled.IsZero()
	return r, err
}

func scanFailed(read scanner) (f store.FailedTask, err error) {
	err = read(text(&f.ID), text(&f.DeviceID), number(&f.Attempt), text(&f.Failure.Code), text(&f.Failure.Message), at(&f.FinishedAt),
		text(&f.Brief.Goal), text(&f.Brief.Workflow))
	return f, err
}

// minutes is a step that adds up rows of (minute, status, number).
func minutes(out *[]store.Minute, since time.Time) step {
	return step{text: selectMinutes, args: []any{micros(since)}, row: func(read scanner) error {
		var minute, n int64
		var status phonebooth.Status
		if err := read(number(&minute), text(&status), number(&n)); err != nil {
			return err
		}
		began := time.Unix(minute*60, 0).UTC()
		if last := len(*out) - 1; last < 0 || !(*out)[last].At.Equal(began) {
			*out = append(*out, store.Minute{At: began})
		}
		m := &(*out)[len(*out)-1]
		switch status {
		case phonebooth.Done:
			m.Done += int(n)
		case phonebooth.Failed:
			m.Failed += int(n)
		case phonebooth.Cancelled:
			m.Cancelled += int(n)
		}
		return nil
	}}
}
