package strategy

import (
	"iter"

	"github.com/phonebooth-dev/phonebooth"
)

// View is what can be placed at one moment. It does not change while Plan runs, and means nothing afterwards.
type View struct {
	// Lanes are those that have both a queued task and an idle device, in the order of their first tasks.
	Lanes []Lane
}

// Lane is all queued tasks with equal constraints, and all idle devices that meet them. A device may be in many lanes, a
// task is in one. The sequences are lazy: what is not asked for costs nothing, however long the queue is. A strategy that
// walks a whole lane makes every pass as slow as the queue is long.
//
// Most strategies need no Lane: [Draft] walks them.
type Lane interface {
	// Constraints are those of every task in the lane.
	Constraints() phonebooth.Constraints

	// Tasks yields the queued tasks in the order of [Task.Compare].
	Tasks() iter.Seq[Task]
	// TasksAfter yields those that come after the task, which is one of this lane.
	TasksAfter(id phonebooth.TaskID) iter.Seq[Task]

	// Devices yields the idle devices in the order of (RegisteredAt, ID).
	Devices() iter.Seq[phonebooth.Device]
	// DevicesAfter yields those that come after the device, which is one of this lane.
	DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device]
}
