package scheduler

import (
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// waiting is a queued task in the index. There may be a million of them, so it holds what a plan needs and no more; the
// constraints are the lane's.
type waiting struct {
	id       phonebooth.TaskID
	rank     int64
	seq      int64
	rev      int64
	created  int64 // microseconds
	lane     *lane
	priority int16
	attempt  int16
	queued   bool // by its newest row
	busy     bool // in flight: it is in a plan that was not answered yet, or held back after a refusal
}

// putTask takes over a newer row of a task; one that is not queued leaves the index.
func (x *index) putTask(t phonebooth.Task) {
	if t.Status.Terminal() {
		delete(x.histories, t.ID)
	}
	w := x.tasks[t.ID]
	if w != nil && t.Rev <= w.rev {
		return
	}
	x.touch(string(t.ID))
	if w != nil {
		x.leave(w)
		w.rev = t.Rev
	}
	if t.Status != phonebooth.Queued {
		if w != nil {
			x.forget(w)
		}
		return
	}
	if w == nil {
		id := phonebooth.TaskID(strings.Clone(string(t.ID)))
		w = &waiting{id: id, rev: t.Rev}
		x.tasks[id] = w
	}
	w.seq, w.created = t.Seq, t.CreatedAt.UnixMicro()
	w.priority, w.attempt = int16(t.Priority), int16(t.Attempt)
	w.lane = x.laneOf(t.Constraints)
	w.rank = x.rank(w.facts())
	x.enter(w)
	if h := x.histories[w.id]; t.Attempt > 0 && (h == nil || h.seen < t.Attempt) {
		x.unsure = append(x.unsure, w)
	}
}

// dropTask removes a task that the store does not have, or not as queued.
func (x *index) dropTask(id phonebooth.TaskID) {
	if w := x.tasks[id]; w != nil {
		x.touch(string(id))
		x.leave(w)
		x.forget(w)
	}
	delete(x.histories, id)
}

// enter puts w, whose row says queued, into its lane.
func (x *index) enter(w *waiting) {
	w.queued = true
	w.lane.queued++
	x.age.ReplaceOrInsert(w.aged())
	x.offer(w)
}

// leave undoes enter.
func (x *index) leave(w *waiting) {
	if !w.queued {
		return
	}
	x.withdraw(w)
	x.age.Delete(w.aged())
	w.queued = false
	if w.lane.queued--; w.lane.queued == 0 {
		x.vacated(w.lane)
	}
}

// forget drops an entry that is neither queued nor in flight. While a task is in flight its entry stays, so that a row that
// was read before it left cannot bring it back.
func (x *index) forget(w *waiting) {
	if !w.queued && !w.busy {
		delete(x.tasks, w.id)
	}
}

// setBusy takes w out of all plans, or gives it back to them.
func (x *index) setBusy(w *waiting, busy bool) {
	if busy {
		x.withdraw(w)
	}
	w.busy = busy
	x.offer(w)
	x.forget(w)
}

func (x *index) offer(w *waiting) {
	if w.queued && !w.busy {
		w.lane.tasks.ReplaceOrInsert(w.ranked())
		x.look(w.lane)
	}
}

func (x *index) withdraw(w *waiting) {
	if w.queued && !w.busy {
		w.lane.tasks.Delete(w.ranked())
		x.look(w.lane)
	}
}

// facts are what a strategy ranks w by.
func (w *waiting) facts() strategy.TaskFacts {
	return strategy.TaskFacts{
		ID: w.id, Seq: w.seq, Priority: int(w.priority), CreatedAt: time.UnixMicro(w.created).UTC(),
		Constraints: w.lane.constraints, Attempt: int(w.attempt),
	}
}

// task is w as a View shows it.
func (x *index) task(w *waiting) strategy.Task {
	t := strategy.Task{TaskFacts: w.facts(), Rank: w.rank}
	if w.attempt > 0 {
		if h := x.histories[w.id]; h != nil {
			t.Failed = h.devices
		}
	}
	return t
}
