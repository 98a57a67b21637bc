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
	var lanes []*lane
	for _, l := range s.index.lanes {
		if l.queued > 0 {
			lanes = append(lanes, l)
		}
	}
	count = len(lanes)
	slices.SortFunc(lanes, func(a, b *lane) int { return cmp.Or(cmp.Compare(b.queued, a.queued), cmp.Compare(a.key, b.key)) })
	lanes = lanes[:min(limit, count)]
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
