package scheduler

import (
	"cmp"
	"slices"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Lanes are the at most limit longest lanes of the queue, each with its oldest task, and how many lanes there are. The
// answer is the index's: a lane's oldest task is found by a look at its tasks, but at no more than a few thousand of them.
func (s *Scheduler) Lanes(limit int) (longest []v1.Lane, count int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lanes, count := s.index.longest(limit)
	oldest := s.index.oldestOf(lanes)
	for _, l := range lanes {
		wire := v1.Lane{Constraints: v1.ConstraintsOf(l.constraints), Queued: l.queued}
		if w := oldest[l]; w != nil {
			wire.Oldest = v1.QueuedTask{ID: string(w.id), Priority: int(w.priority), SubmittedAt: time.UnixMicro(w.created).UTC()}
		}
		longest = append(longest, wire)
	}
	return longest, count
}

// longest are the at most limit lanes with the most tasks, and how many have any. It keeps no more than those: there may be a
// lane for each task, and whoever changes the index waits.
func (x *index) longest(limit int) (kept []*lane, count int) {
	longer := func(a, b *lane) int { return cmp.Or(cmp.Compare(b.queued, a.queued), cmp.Compare(a.key, b.key)) }
	for _, l := range x.lanes {
		if l.queued == 0 {
			continue
		}
		count++
		if len(kept) == limit && (limit == 0 || longer(kept[limit-1], l) < 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(kept, l, longer)
		if kept = slices.Insert(kept, at, l); len(kept) > limit {
			kept = kept[:limit]
		}
	}
	return kept, count
}

// maxAgeLooks bounds the walk along the queue by age.
const maxAgeLooks = 4096

// oldestOf finds the oldest task of each lane: along the whole queue, and for a lane that has none among the oldest few
// thousand tasks it is the one that goes first.
func (x *index) oldestOf(lanes []*lane) map[*lane]*waiting {
	oldest := map[*lane]*waiting{}
	for _, l := range lanes {
		if first, ok := l.tasks.Min(); ok {
			oldest[l] = first.waiting
		}
	}
	looks, missing := 0, map[*lane]bool{}
	for _, l := range lanes {
		missing[l] = true
	}
	x.age.Ascend(func(a aged) bool {
		if missing[a.lane] {
			oldest[a.lane] = a.waiting
			delete(missing, a.lane)
		}
		looks++
		return len(missing) > 0 && looks < maxAgeLooks
	})
	return oldest
}
