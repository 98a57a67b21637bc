package scheduler

import (
	"slices"

	"github.com/google/btree"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/reach"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// index is what the scheduler believes of the store. One goroutine changes it.
type index struct {
	rank func(strategy.TaskFacts) int64

	tasks     map[phonebooth.TaskID]*waiting
	age       *btree.BTreeG[aged] // the queued ones by seq: the oldest is first
	histories map[phonebooth.TaskID]*history
	devices   map[phonebooth.DeviceID]*deviceRow
	hosts     map[phonebooth.HostID]*hostRow

	lanes map[string]*lane
	open  map[*lane]struct{} // those with a task and an idle device
	empty []*lane            // those that lost their last task, longest ago first; some have tasks again

	reach    reach.Reach     // the changes that are in the index
	followed bool            // what is missing of them comes later
	touched  map[string]bool // ids of rows that changed since a comparison began, nil while there is none
	unsure   []*waiting      // queued tasks of whose attempts some were never seen
}

// hostRow is a host and its devices. A host that is only known from its devices has no row yet, and offers none of them.
type hostRow struct {
	row     phonebooth.Host
	known   bool
	devices []*deviceRow
}

func newIndex(rank func(strategy.TaskFacts) int64) *index {
	return &index{
		rank: rank, tasks: map[phonebooth.TaskID]*waiting{}, age: btree.NewG(treeDegree, bySeq),
		histories: map[phonebooth.TaskID]*history{}, devices: map[phonebooth.DeviceID]*deviceRow{},
		hosts: map[phonebooth.HostID]*hostRow{}, lanes: map[string]*lane{}, open: map[*lane]struct{}{},
	}
}

// load takes over a snapshot.
func (x *index) load(s store.Snapshot) {
	for _, h := range s.Hosts {
		x.putHost(h)
	}
	for _, d := range s.Devices {
		x.putDevice(d)
	}
	for _, r := range s.Reservations {
		x.setReservation(r.DeviceID, &r, s.Pos)
	}
	for _, t := range s.Tasks {
		x.setHistory(t, s.Failed[t.ID])
		x.putTask(t)
	}
	x.reach.Jump(s.Pos)
}

// apply takes over a committed change. It reports false when commits before it are missing.
func (x *index) apply(c lifecycle.Change) (whole bool) {
	whole = true
	last := x.reach.UpTo()
	if n := len(c.Events); n > 0 && c.Events[n-1].Pos > 0 {
		first := c.Events[0].Pos
		if last = c.Events[n-1].Pos; x.reach.Has(first, last) {
			return true // it was in the snapshot, or came twice
		}
		if whole = x.reach.Add(first, last); !x.followed {
			x.reach.Jump(last) // what is missing never comes: a comparison makes it good
		}
	}
	for _, h := range c.Hosts {
		x.putHost(h)
	}
	for _, d := range c.Devices {
		x.putDevice(d)
	}
	for _, id := range c.Release {
		x.setReservation(id, nil, last)
	}
	for _, r := range c.Reserve {
		x.setReservation(r.DeviceID, &r, last)
	}
	x.learnEnded(c)
	for _, t := range c.Tasks {
		x.putTask(t)
	}
	return whole
}

func (x *index) touch(id string) {
	if x.touched != nil {
		x.touched[id] = true
	}
}

func (x *index) host(id phonebooth.HostID) *hostRow {
	h := x.hosts[id]
	if h == nil {
		h = &hostRow{}
		x.hosts[id] = h
	}
	return h
}

// putHost takes over a newer row. Most of them say nothing new about the host's devices.
func (x *index) putHost(row phonebooth.Host) {
	h := x.host(row.ID)
	if h.known && row.Rev <= h.row.Rev {
		return
	}
	same := h.known && hostReason(h.row) == hostReason(row)
	h.row, h.known = row, true
	x.touch(string(row.ID))
	if same {
		return
	}
	for _, d := range h.devices {
		x.judge(d)
	}
}

// hostReason is why a host keeps even a device without fault from taking a task.
func hostReason(h phonebooth.Host) phonebooth.Reason {
	return phonebooth.Device{Condition: phonebooth.Ready}.Available(h, nil)
}

// history is the devices on which a task has ended an attempt. It lives until the task ends.
type history struct {
	seen    int // attempts 1 to seen are known
	devices []phonebooth.DeviceID
}

func (h *history) add(id phonebooth.DeviceID) {
	if !slices.Contains(h.devices, id) {
		h.devices = append(h.devices, id)
	}
}

// learnEnded remembers where the attempts of c ended, of tasks that may be queued again.
func (x *index) learnEnded(c lifecycle.Change) {
	for _, a := range c.Attempts {
		if a.Live() {
			continue
		}
		i := slices.IndexFunc(c.Tasks, func(t phonebooth.Task) bool { return t.ID == a.TaskID })
		if i < 0 || c.Tasks[i].Status.Terminal() {
			continue
		}
		h := x.histories[a.TaskID]
		if h == nil {
			h = &history{}
			x.histories[a.TaskID] = h
		}
		if a.Number == h.seen+1 {
			h.seen++
		}
		h.add(a.DeviceID)
	}
}

// setHistory replaces what is known of the ended attempts of queued t.
func (x *index) setHistory(t phonebooth.Task, devices []phonebooth.DeviceID) {
	if t.Attempt == 0 || t.Status != phonebooth.Queued {
		return
	}
	h := &history{seen: t.Attempt}
	for _, id := range devices {
		h.add(id)
	}
	x.histories[t.ID] = h
}
