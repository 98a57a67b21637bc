package strategy

import (
	"container/heap"
	"iter"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
)

// Draft is a plan in the making. It walks the lanes of a View together and keeps account of what has been used, so that
// no task and no device is used twice. Its cost is in the lanes and the placements, not in the length of the queue.
//
// A Draft belongs to one call of Plan and one goroutine.
type Draft struct {
	view    View
	tasks   map[phonebooth.TaskID]bool   // placed
	devices map[phonebooth.DeviceID]bool // used
	plan    []Placement
}

// NewDraft begins a plan for v.
func NewDraft(v View) *Draft {
	return &Draft{view: v, tasks: map[phonebooth.TaskID]bool{}, devices: map[phonebooth.DeviceID]bool{}}
}

// Tasks yields the tasks of all lanes that are not placed yet, in the order of [Task.Compare], each with the devices that
// it could get now: unused ones, in their order, those on which the task has failed before at the end. A task without such
// a device is passed over, with its whole lane: it blocks nobody (spec S2.2).
//
// It may be ranged over several times; what was placed before does not come again.
func (d *Draft) Tasks() iter.Seq2[Task, iter.Seq[phonebooth.Device]] {
	return func(yield func(Task, iter.Seq[phonebooth.Device]) bool) {
		queue := d.heads()
		for len(queue) > 0 {
			c := queue[0]
			if !d.hasUnused(c) {
				heap.Pop(&queue)
				continue
			}
			if !d.tasks[c.head.ID] && !yield(c.head, d.candidates(c, c.head.Failed)) {
				return
			}
			if c.advance(c.lane.TasksAfter(c.head.ID)) {
				heap.Fix(&queue, 0)
			} else {
				heap.Pop(&queue)
			}
		}
	}
}

// Place adds the binding of task to device to the plan. It reports false, and adds nothing, when one of them is used.
func (d *Draft) Place(task Task, device phonebooth.Device) bool {
	if d.tasks[task.ID] || d.devices[device.ID] {
		return false
	}
	d.tasks[task.ID], d.devices[device.ID] = true, true
	d.plan = append(d.plan, Placement{TaskID: task.ID, DeviceID: device.ID})
	return true
}

// Used reports whether the plan uses the device already.
func (d *Draft) Used(device phonebooth.DeviceID) bool { return d.devices[device] }

// Placements is the plan, in the order in which it was made.
func (d *Draft) Placements() []Placement { return d.plan }

// FirstMatch is the plan of a queue in the order of the ranks: each task in turn gets the first device that it can get, and
// a task that can get none blocks nobody (spec S2.2, S3.1).
func FirstMatch(v View) []Placement {
	draft := NewDraft(v)
	for task, devices := range draft.Tasks() {
		for device := range devices {
			draft.Place(task, device)
			break
		}
	}
	return draft.Placements()
}

// heads opens every lane at its first task.
func (d *Draft) heads() cursors {
	queue := make(cursors, 0, len(d.view.Lanes))
	for _, lane := range d.view.Lanes {
		c := &cursor{lane: lane}
		if c.advance(lane.Tasks()) {
			queue = append(queue, c)
		}
	}
	heap.Init(&queue)
	return queue
}

func (d *Draft) hasUnused(c *cursor) bool {
	for range d.unused(c) {
		return true
	}
	return false
}

// candidates yields what a task of c's lane could get, those among failed at the end.
func (d *Draft) candidates(c *cursor, failed []phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	return func(yield func(phonebooth.Device) bool) {
		var last []phonebooth.Device
		for device := range d.unused(c) {
			if slices.Contains(failed, device.ID) {
				last = append(last, device)
			} else if !yield(device) {
				return
			}
		}
		for _, device := range last {
			if !d.devices[device.ID] && !yield(device) {
				return
			}
		}
	}
}

// unused yields the unused devices of c's lane in their order. Used ones at its beginning are left behind for good, so
// that a plan of n placements does not look n times at the first device.
func (d *Draft) unused(c *cursor) iter.Seq[phonebooth.Device] {
	return func(yield func(phonebooth.Device) bool) {
		leading := true
		for device := range c.devices() {
			switch {
			case !d.devices[device.ID]:
				leading = false
				if !yield(device) {
					return
				}
			case leading:
				c.behind = device.ID
			}
		}
	}
}

// cursor is how far a draft has come in one lane.
type cursor struct {
	lane   Lane
	head   Task
	behind phonebooth.DeviceID // the last of the used devices at the lane's beginning, "" when there is none
}

// devices yields those that are not left behind.
func (c *cursor) devices() iter.Seq[phonebooth.Device] {
	if c.behind == "" {
		return c.lane.Devices()
	}
	return c.lane.DevicesAfter(c.behind)
}

// advance moves to the first of tasks; false when there is none.
func (c *cursor) advance(tasks iter.Seq[Task]) bool {
	for c.head = range tasks {
		return true
	}
	return false
}

// cursors is a heap by head.
type cursors []*cursor

func (q cursors) Len() int           { return len(q) }
func (q cursors) Less(i, j int) bool { return q[i].head.Compare(q[j].head) < 0 }
func (q cursors) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *cursors) Push(c any)        { *q = append(*q, c.(*cursor)) }

func (q *cursors) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
