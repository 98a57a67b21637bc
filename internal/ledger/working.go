package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// working is the state of a batch while it is decided: the loaded rows as the verbs so far left them, and which of them
// changed, in the order of their first change.
type working struct {
	rows   *store.Rows
	head   store.Head
	locked bool // the head
	queued int  // by how much the batch changed the number of queued tasks

	hosts    touched[phonebooth.HostID]
	devices  touched[phonebooth.DeviceID]
	tasks    touched[phonebooth.TaskID]
	attempts touched[phonebooth.AttemptKey]
	reserve  []phonebooth.Reservation
	release  []phonebooth.DeviceID

	workflows []phonebooth.Workflow
	leader    *lifecycle.Leader
	events    []phonebooth.Event
}

// touched is a set that remembers its order.
type touched[K comparable] struct {
	seen  map[K]bool
	order []K
}

func (t *touched[K]) add(k K) {
	if t.seen == nil {
		t.seen = map[K]bool{}
	}
	if !t.seen[k] {
		t.seen[k] = true
		t.order = append(t.order, k)
	}
}

func newWorking(rows *store.Rows) *working { return &working{rows: rows} }

func (w *working) lockHead(ctx context.Context, tx store.Tx) (err error) {
	w.head, err = tx.Head(ctx)
	w.locked = err == nil
	return err
}

// apply makes one verb's change the state that the next one sees.
func (w *working) apply(c lifecycle.Change, by Verb) {
	for _, h := range c.Hosts {
		w.rows.Hosts[h.ID] = h
		w.hosts.add(h.ID)
	}
	for _, d := range c.Devices {
		w.rows.Devices[d.ID] = d
		w.devices.add(d.ID)
	}
	for _, t := range c.Tasks {
		w.applyTask(t)
	}
	for _, a := range c.Attempts {
		w.rows.Attempts[a.AttemptKey] = a
		w.attempts.add(a.AttemptKey)
	}
	for _, id := range c.Release {
		w.applyRelease(id)
	}
	for _, r := range c.Reserve {
		w.rows.Reservations[r.DeviceID] = r
		w.reserve = append(w.reserve, r) // a second one of a device too: the database is there to refuse it (S5.2)
	}
	for _, f := range c.Workflows {
		w.rows.Workflows[f.Name] = f
		w.workflows = append(w.workflows, f)
	}
	if c.Leader != nil {
		w.rows.Leader, w.leader = *c.Leader, c.Leader
	}
	for _, e := range c.Events {
		e.Actor, e.RequestID = by.Actor, by.RequestID
		w.events = append(w.events, e)
	}
	w.applyClaims(c.Attempts)
}

func (w *working) applyTask(t phonebooth.Task) {
	old, known := w.rows.Tasks[t.ID]
	if known && old.Status == phonebooth.Queued {
		w.queued--
	}
	if t.Status == phonebooth.Queued {
		w.queued++
	}
	if s := t.Submission; !known && s.IdempotencyKey != "" {
		w.rows.Idempotency[store.IdempotencyKey{Subject: s.Subject, Key: s.IdempotencyKey}] = t.ID
	}
	w.rows.Tasks[t.ID] = t
	w.tasks.add(t.ID)
}

// applyClaims lets a repeat of a claim in the same batch find what the claim was answered with.
func (w *working) applyClaims(attempts []phonebooth.Attempt) {
	for _, a := range attempts {
		if a.State != phonebooth.AttemptDispatched {
			continue
		}
		key := store.ClaimKey{HostID: a.HostID, ClaimID: a.ClaimID}
		if !slices.Contains(w.rows.Claims[key], a.AttemptKey) {
			w.rows.Claims[key] = append(w.rows.Claims[key], a.AttemptKey)
		}
	}
}

// applyRelease takes back a reservation of this batch, or has the stored one removed.
func (w *working) applyRelease(id phonebooth.DeviceID) {
	delete(w.rows.Reservations, id)
	ours := slices.IndexFunc(w.reserve, func(r phonebooth.Reservation) bool { return r.DeviceID == id })
	if ours >= 0 {
		w.reserve = slices.Delete(w.reserve, ours, ours+1)
		return
	}
	w.release = append(w.release, id)
}

// finish gives the events their positions and saves the last state of each row.
func (w *working) finish(ctx context.Context, tx store.Tx, now time.Time) (Commit, error) {
	if (len(w.events) > 0 || w.queued != 0) && !w.locked {
		if err := w.lockHead(ctx, tx); err != nil {
			return Commit{}, err
		}
	}
	var head *store.Head
	if w.locked && (len(w.events) > 0 || w.queued != 0) {
		w.head.Now = later(now, w.head.Now)
		w.head.Queued += w.queued
		w.number()
		head = &w.head
	}
	c := w.change()
	if c.Empty() {
		return Commit{}, nil
	}
	return Commit{Change: c, Now: now}, tx.Save(ctx, c, head)
}

// number gives the events the next positions; a new task is ordered by that of its first event.
func (w *working) number() {
	for i := range w.events {
		e := &w.events[i]
		w.head.Pos++
		e.Pos, e.At = w.head.Pos, w.head.Now
		e.Labels = w.rows.Tasks[e.TaskID].Labels
		if e.Kind == phonebooth.TaskSubmitted {
			t := w.rows.Tasks[e.TaskID]
			t.Seq = e.Pos
			w.rows.Tasks[t.ID] = t
		}
	}
}

// change is everything that the batch changed, the last state of each row once.
func (w *working) change() lifecycle.Change {
	c := lifecycle.Change{Workflows: w.workflows, Reserve: w.reserve, Release: w.release, Events: w.events, Leader: w.leader}
	for _, id := range w.hosts.order {
		c.Hosts = append(c.Hosts, w.rows.Hosts[id])
	}
	for _, id := range w.devices.order {
		c.Devices = append(c.Devices, w.rows.Devices[id])
	}
	for _, id := range w.tasks.order {
		c.Tasks = append(c.Tasks, w.rows.Tasks[id])
	}
	for _, key := range w.attempts.order {
		c.Attempts = append(c.Attempts, w.rows.Attempts[key])
	}
	return c
}
