package scheduler

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Explain says what keeps queued t from a device, what goes before it, and whether a pass made now would place it. A task
// without an id is one that is not submitted: it stands behind all others of its rank. The holders of devices are named;
// their leases are not known here.
//
// The index is locked for as long as it takes to copy the pool and to look at a bounded number of tasks; everything else
// happens afterwards. It waits until Run has read the store for the first time.
func (s *Scheduler) Explain(ctx context.Context, t phonebooth.Task) (v1.Wait, error) {
	select {
	case <-s.loaded:
	case <-ctx.Done():
		return v1.Wait{}, phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the queue has not been read yet; try again").
			Because(ctx.Err())
	}
	m := s.moment(t)
	slices.SortFunc(m.pool, func(a, b known) int {
		return cmp.Or(a.device.RegisteredAt.Compare(b.device.RegisteredAt), cmp.Compare(a.device.ID, b.device.ID))
	})
	w := v1.Wait{
		Known: len(m.pool), Clauses: explainClauses(t.Constraints, m.pool), Ahead: m.ahead, Planned: m.planned, Undecided: m.undecided,
	}
	w.Candidates, w.States = explainCandidates(t.Constraints, m)
	if !t.QueueDeadline.IsZero() {
		w.FailsAt = &t.QueueDeadline
	}
	if i := slices.IndexFunc(m.pool, func(k known) bool { return k.device.ID == m.next }); i >= 0 {
		ref := m.pool[i].ref()
		w.Next = &ref
	}
	return w, nil
}

// moment is what the index knew at one time of a task and of the pool. Its rows are copies, or are
// replaced and never changed.
type moment struct {
	pool      []known
	tried     []phonebooth.DeviceID // on which an attempt of the task has ended
	ahead     v1.Ahead
	planned   bool                // the task is in flight
	next      phonebooth.DeviceID // that a pass made now gives it, "" for none
	undecided bool
}

// known is a device of a host that is in the pool.
type known struct {
	device      *phonebooth.Device
	host        *phonebooth.Host
	reservation *phonebooth.Reservation
	busy        bool // in flight
}

func (k known) ref() v1.DeviceRef {
	return v1.DeviceRef{ID: string(k.device.ID), Name: k.device.Name, HostID: string(k.host.ID), HostName: k.host.Name}
}

// moment looks at the index once.
func (s *Scheduler) moment(t phonebooth.Task) moment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x := s.index
	m := moment{pool: make([]known, 0, len(x.devices))}
	var candidates []*deviceRow
	for _, h := range x.hosts {
		if !h.known || !h.row.RemovedAt.IsZero() {
			continue
		}
		host := h.row
		for _, d := range h.devices {
			m.pool = append(m.pool, known{d.row, &host, d.reservation, d.busy})
			if t.Constraints.Match(*d.row) == phonebooth.Matches {
				candidates = append(candidates, d)
			}
		}
	}
	w := x.waitingFor(t)
	m.planned = w.busy
	if history := x.histories[t.ID]; history != nil {
		m.tried = slices.Clone(history.devices)
	}
	m.ahead = x.aheadOf(w.ranked(), candidates)
	if !w.busy {
		m.next, m.undecided = x.foresee(s.strategy, w, candidates)
	}
	return m
}

// waitingFor is the queue's own entry for t or, where it has none, what that would be.
func (x *index) waitingFor(t phonebooth.Task) *waiting {
	if w := x.tasks[t.ID]; w != nil && w.queued {
		return w
	}
	w := &waiting{
		id: t.ID, seq: cmp.Or(t.Seq, math.MaxInt64), created: t.CreatedAt.UnixMicro(), priority: int16(t.Priority), attempt: int16(t.Attempt),
	}
	if w.lane = x.lanes[t.Constraints.Key()]; w.lane == nil {
		w.lane = &lane{index: x, constraints: t.Constraints}
	}
	w.rank = x.rank(w.facts())
	return w
}

// Bounds of what is looked at while the index is locked, and of what is listed.
const (
	maxListed   = 5       // of devices and tasks, each time
	maxCounted  = 10_000  // tasks ahead
	maxMembers  = 100_000 // looks at the lanes of candidates
	maxForeseen = 20_000  // looks of a strategy at tasks and devices
	maxLanes    = 1_000   // lanes that a plan can be made of
)

// aheadOf finds the tasks that are planned before me and could take one of the candidates.
func (x *index) aheadOf(me ranked, candidates []*deviceRow) v1.Ahead {
	a := v1.Ahead{First: []v1.QueuedTask{}}
	lanes, whole := lanesOf(me.lane, candidates)
	a.AtLeast = !whole
	var first []ranked
	for l := range lanes {
		l.tasks.AscendLessThan(me, func(r ranked) bool {
			if len(first) == maxListed && !byRank(r, first[maxListed-1]) {
				return false
			}
			at, _ := slices.BinarySearchFunc(first, r, compareRanked)
			first = slices.Insert(first, at, r)
			first = first[:min(len(first), maxListed)]
			return true
		})
		l.tasks.AscendLessThan(me, func(ranked) bool {
			if a.Count == maxCounted {
				a.AtLeast = true
				return false
			}
			a.Count++
			return true
		})
	}
	for _, r := range first {
		a.First = append(a.First, v1.QueuedTask{ID: string(r.id), Priority: int(r.priority), SubmittedAt: time.UnixMicro(r.created).UTC()})
	}
	return a
}

func compareRanked(a, b ranked) int {
	switch {
	case byRank(a, b):
		return -1
	case byRank(b, a):
		return 1
	}
	return 0
}

// lanesOf are the lanes with tasks that could take one of the candidates; not whole when there was too much to look at.
func lanesOf(own *lane, candidates []*deviceRow) (lanes map[*lane]struct{}, whole bool) {
	lanes = map[*lane]struct{}{}
	if len(candidates) > 0 && own.tasks != nil {
		lanes[own] = struct{}{}
	}
	looks := maxMembers
	for _, d := range candidates {
		for _, l := range d.lanes {
			if looks--; looks < 0 {
				return lanes, false
			}
			if !l.closed && l.tasks.Len() > 0 {
				lanes[l] = struct{}{}
			}
		}
	}
	return lanes, true
}
