package scheduler

import (
	"cmp"
	"iter"
	"slices"

	"github.com/google/btree"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// treeDegree is a compromise between memory and the cost of an insertion in the middle.
const treeDegree = 32

// maxEmptyLanes is how many lanes without a task are kept: a shallow queue would otherwise build its lanes anew for every
// task, and that takes a look at every device.
const maxEmptyLanes = 256

// lane is the queued tasks with equal constraints and the idle devices that meet them. It is the [strategy.Lane] of a View.
type lane struct {
	index       *index
	key         string
	constraints phonebooth.Constraints
	queued      int                       // tasks that wait in it, also those in flight
	tasks       *btree.BTreeG[ranked]     // those that may be planned, by (rank, seq)
	idle        *btree.BTreeG[*deviceRow] // by (registered, id)
	closed      bool                      // dropped: devices that still name it forget it when they look
}

// ranked and aged are a task in a tree, with its place in the order: in a queue of a million each look at the task itself
// would be a look at memory far away.
type (
	ranked struct {
		rank, seq int64
		*waiting
	}
	aged struct {
		seq int64
		*waiting
	}
)

func (w *waiting) ranked() ranked { return ranked{w.rank, w.seq, w} }
func (w *waiting) aged() aged     { return aged{w.seq, w} }

func byRank(a, b ranked) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return bySeq(aged{a.seq, a.waiting}, aged{b.seq, b.waiting})
}

func bySeq(a, b aged) bool {
	if a.seq != b.seq {
		return a.seq < b.seq
	}
	return a.id < b.id
}

func byRegistration(a, b *deviceRow) bool {
	return cmp.Or(a.row.RegisteredAt.Compare(b.row.RegisteredAt), cmp.Compare(a.row.ID, b.row.ID)) < 0
}

// laneOf is the lane for c, opened when there is none.
func (x *index) laneOf(c phonebooth.Constraints) *lane {
	key := c.Key()
	if l := x.lanes[key]; l != nil {
		return l
	}
	c.Tags = slices.Clone(c.Tags)
	l := &lane{
		index: x, key: key, constraints: c,
		tasks: btree.NewG(treeDegree, byRank), idle: btree.NewG(treeDegree, byRegistration),
	}
	x.lanes[key] = l
	for d := range x.mayMatch(c) {
		if d.known && c.Match(*d.row) == phonebooth.Matches {
			d.join(l, len(x.lanes))
			if d.idle {
				l.idle.ReplaceOrInsert(d)
			}
		}
	}
	return l
}

// join adds l to the lanes of d. A device that never changes would never forget the closed ones by itself; open is how many
// lanes there are.
func (d *deviceRow) join(l *lane, open int) {
	if len(d.lanes) >= 2*open {
		d.forgetClosed()
	}
	d.lanes = append(d.lanes, l)
}

func (d *deviceRow) forgetClosed() {
	d.lanes = slices.DeleteFunc(d.lanes, func(l *lane) bool { return l.closed })
}

// mayMatch narrows the devices that are worth a look, for constraints that name one or its host.
func (x *index) mayMatch(c phonebooth.Constraints) iter.Seq[*deviceRow] {
	return func(yield func(*deviceRow) bool) {
		switch {
		case c.DeviceID != "":
			if d := x.devices[c.DeviceID]; d != nil {
				yield(d)
			}
		case c.HostID != "":
			if h := x.hosts[c.HostID]; h != nil {
				for _, d := range h.devices {
					if !yield(d) {
						return
					}
				}
			}
		default:
			for _, d := range x.devices {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// vacated remembers that l has no task any more, and closes the lane that has had none for longest when there are too many.
func (x *index) vacated(l *lane) {
	x.empty = append(x.empty, l)
	for len(x.empty) > maxEmptyLanes {
		oldest := x.empty[0]
		x.empty[0], x.empty = nil, x.empty[1:]
		if oldest.queued == 0 && !oldest.closed && !slices.Contains(x.empty, oldest) {
			oldest.closed, oldest.idle = true, nil
			delete(x.lanes, oldest.key)
		}
	}
}

// look notes whether a plan can be made of l.
func (x *index) look(l *lane) {
	if l.tasks.Len() > 0 && l.idle.Len() > 0 {
		x.open[l] = struct{}{}
	} else {
		delete(x.open, l)
	}
}

// view is what can be planned now.
func (x *index) view() strategy.View {
	open := make([]*lane, 0, len(x.open))
	for l := range x.open {
		open = append(open, l)
	}
	slices.SortFunc(open, func(a, b *lane) int {
		first, _ := a.tasks.Min()
		second, _ := b.tasks.Min()
		if byRank(first, second) {
			return -1
		}
		return 1
	})
	v := strategy.View{Lanes: make([]strategy.Lane, len(open))}
	for i, l := range open {
		v.Lanes[i] = l
	}
	return v
}

// Constraints are shared and read-only.
func (l *lane) Constraints() phonebooth.Constraints { return l.constraints }

// Tasks yields the tasks that may be planned.
func (l *lane) Tasks() iter.Seq[strategy.Task] {
	return func(yield func(strategy.Task) bool) {
		l.tasks.Ascend(func(r ranked) bool { return yield(l.index.task(r.waiting)) })
	}
}

// TasksAfter yields those behind a task.
func (l *lane) TasksAfter(id phonebooth.TaskID) iter.Seq[strategy.Task] {
	after := l.index.tasks[id]
	return func(yield func(strategy.Task) bool) {
		l.tasks.AscendGreaterOrEqual(after.ranked(), func(r ranked) bool { return r.waiting == after || yield(l.index.task(r.waiting)) })
	}
}

// Devices yields the idle devices.
func (l *lane) Devices() iter.Seq[phonebooth.Device] {
	return func(yield func(phonebooth.Device) bool) {
		l.idle.Ascend(func(d *deviceRow) bool { return yield(*d.row) })
	}
}

// DevicesAfter yields those behind a device.
func (l *lane) DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	after := l.index.devices[id]
	return func(yield func(phonebooth.Device) bool) {
		l.idle.AscendGreaterOrEqual(after, func(e *deviceRow) bool { return e == after || yield(*e.row) })
	}
}
