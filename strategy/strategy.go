package strategy

import (
	"cmp"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Strategy decides which queued task goes to which idle device. Both methods are pure: equal arguments, equal answers.
type Strategy interface {
	// Rank is a task's place in the queue: smaller goes first, and equal ranks go by Seq. It is asked each time the task
	// enters the queue and holds while the task waits. The unit is the strategy's own; see package priority for ranks in
	// microseconds. Tasks that differ in nothing but their age must not get ranks that put the younger first.
	Rank(TaskFacts) int64

	// Plan chooses among what v offers. It may use each task and each device once, and should leave no device idle that
	// a task could have: what is left over is looked at again only when something changes.
	Plan(v View) []Placement
}

// TaskFacts are what a strategy knows of a queued task. A task's goal, inputs and labels are not among them, so nothing
// in its payload influences where it goes.
type TaskFacts struct {
	ID          phonebooth.TaskID
	Seq         int64 // the order of submission over all tasks; a task that is queued again keeps it
	Priority    int   // -10..10, higher is more urgent
	CreatedAt   time.Time
	Constraints phonebooth.Constraints
	Attempt     int // attempts that have ended: 0 for a task that never ran
}

// Task is a queued task with its place in the queue.
type Task struct {
	TaskFacts
	Rank   int64
	Failed []phonebooth.DeviceID // devices on which an attempt of it has ended: better tried last
}

// Compare orders tasks by (Rank, Seq): negative when t goes before o.
func (t Task) Compare(o Task) int {
	return cmp.Or(cmp.Compare(t.Rank, o.Rank), cmp.Compare(t.Seq, o.Seq), cmp.Compare(t.ID, o.ID))
}

// Placement is the wish to bind a queued task to an idle device.
type Placement struct {
	TaskID   phonebooth.TaskID
	DeviceID phonebooth.DeviceID
}
