package scheduler

import (
	"iter"
	"slices"

	"github.com/google/btree"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// foresee is the device that a pass made now gives to w, "" for none; undecided when there is too much to look at. The plan
// is the strategy's own, on the view that a pass would have, and nothing comes of it.
func (x *index) foresee(s strategy.Strategy, w *waiting, candidates []*deviceRow) (next phonebooth.DeviceID, undecided bool) {
	if !slices.ContainsFunc(candidates, func(d *deviceRow) bool { return d.idle }) {
		return "", false
	}
	if len(x.open) > maxLanes {
		return "", true
	}
	view, looks := x.view(), maxForeseen
	if !w.queued {
		view = x.viewWith(view, w, candidates)
	}
	for i, l := range view.Lanes {
		view.Lanes[i] = limited{l, &looks}
	}
	for _, p := range s.Plan(view) {
		if p.TaskID == w.id {
			next = p.DeviceID
		}
	}
	if looks <= 0 {
		return "", true
	}
	return next, false
}

// viewWith is the view as it would be if w were queued too.
func (x *index) viewWith(view strategy.View, w *waiting, candidates []*deviceRow) strategy.View {
	l := w.lane
	if l.tasks == nil {
		l = &lane{index: x, constraints: l.constraints, tasks: btree.NewG(treeDegree, byRank), idle: btree.NewG(treeDegree, byRegistration)}
		for _, d := range candidates {
			if d.idle {
				l.idle.ReplaceOrInsert(d)
			}
		}
	}
	joined := joined{l, w, x.task(w)}
	lanes := slices.DeleteFunc(view.Lanes, func(o strategy.Lane) bool { return o == strategy.Lane(l) })
	at := slices.IndexFunc(lanes, func(o strategy.Lane) bool { return firstOf(joined.Tasks()).Compare(firstOf(o.Tasks())) < 0 })
	if at < 0 {
		at = len(lanes)
	}
	return strategy.View{Lanes: slices.Insert(lanes, at, strategy.Lane(joined))}
}

func firstOf(tasks iter.Seq[strategy.Task]) (first strategy.Task) {
	for first = range tasks {
		break
	}
	return first
}

// joined is a lane with one task more than the queue has in it.
type joined struct {
	*lane
	extra *waiting
	task  strategy.Task
}

// Tasks yields the lane's tasks with the extra one at its place.
func (j joined) Tasks() iter.Seq[strategy.Task] { return j.merged(j.lane.Tasks()) }

// TasksAfter yields those behind a task.
func (j joined) TasksAfter(id phonebooth.TaskID) iter.Seq[strategy.Task] {
	if id == j.extra.id {
		return func(yield func(strategy.Task) bool) {
			j.tasks.AscendGreaterOrEqual(j.extra.ranked(), func(r ranked) bool { return yield(j.index.task(r.waiting)) })
		}
	}
	after := j.lane.TasksAfter(id)
	if byRank(j.index.tasks[id].ranked(), j.extra.ranked()) {
		return j.merged(after)
	}
	return after
}

func (j joined) merged(tasks iter.Seq[strategy.Task]) iter.Seq[strategy.Task] {
	return func(yield func(strategy.Task) bool) {
		pending := true
		for t := range tasks {
			if pending && j.task.Compare(t) < 0 {
				pending = false
				if !yield(j.task) {
					return
				}
			}
			if !yield(t) {
				return
			}
		}
		if pending {
			yield(j.task)
		}
	}
}

// limited is a lane that seems to end when there were too many looks at it and the others.
type limited struct {
	strategy.Lane
	looks *int
}

func (l limited) Tasks() iter.Seq[strategy.Task]       { return counting(l.Lane.Tasks(), l.looks) }
func (l limited) Devices() iter.Seq[phonebooth.Device] { return counting(l.Lane.Devices(), l.looks) }

func (l limited) TasksAfter(id phonebooth.TaskID) iter.Seq[strategy.Task] {
	return counting(l.Lane.TasksAfter(id), l.looks)
}

func (l limited) DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	return counting(l.Lane.DevicesAfter(id), l.looks)
}

func counting[T any](all iter.Seq[T], looks *int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range all {
			if *looks--; *looks < 0 || !yield(v) {
				return
			}
		}
	}
}
