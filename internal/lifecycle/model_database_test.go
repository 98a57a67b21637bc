package lifecycle

import (
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
)

// database holds rows, and the constraints that a real one guards whatever anybody believes.
type database struct {
	hosts        map[phonebooth.HostID]phonebooth.Host
	devices      map[phonebooth.DeviceID]phonebooth.Device
	tasks        map[phonebooth.TaskID]phonebooth.Task
	attempts     map[phonebooth.AttemptKey]phonebooth.Attempt
	reservations map[phonebooth.DeviceID]phonebooth.Reservation
	leases       map[phonebooth.LeaseID]phonebooth.AttemptKey

	taskOrder    []phonebooth.TaskID
	attemptOrder []phonebooth.AttemptKey
}

func newDatabase() *database {
	return &database{
		hosts: map[phonebooth.HostID]phonebooth.Host{}, devices: map[phonebooth.DeviceID]phonebooth.Device{},
		tasks: map[phonebooth.TaskID]phonebooth.Task{}, attempts: map[phonebooth.AttemptKey]phonebooth.Attempt{},
		reservations: map[phonebooth.DeviceID]phonebooth.Reservation{}, leases: map[phonebooth.LeaseID]phonebooth.AttemptKey{},
	}
}

func (db *database) live(key phonebooth.AttemptKey) Live {
	a := db.attempts[key]
	return Live{Host: db.hosts[a.HostID], Device: db.devices[a.DeviceID], Task: db.tasks[a.TaskID], Attempt: a}
}

func (db *database) reservation(id phonebooth.DeviceID) *phonebooth.Reservation {
	if r, ok := db.reservations[id]; ok {
		return &r
	}
	return nil
}

// liveAttempts lists what has not ended, in the order of assignment.
func (db *database) liveAttempts() []phonebooth.Attempt {
	var live []phonebooth.Attempt
	for _, key := range db.attemptOrder {
		if a := db.attempts[key]; a.Live() {
			live = append(live, a)
		}
	}
	return live
}

func (db *database) byLease(id phonebooth.LeaseID) (Live, bool) {
	key, ok := db.leases[id]
	return db.live(key), ok
}

// apply writes c, or says which constraint forbids it.
func (db *database) apply(c Change) error {
	for _, h := range c.Hosts {
		db.hosts[h.ID] = h
	}
	for _, d := range c.Devices {
		db.devices[d.ID] = d
	}
	for _, t := range c.Tasks {
		old, known := db.tasks[t.ID]
		if !known {
			db.taskOrder = append(db.taskOrder, t.ID)
		}
		if old.Status.Terminal() {
			return fmt.Errorf("task %s changes after it ended as %s", t.ID, old.Status)
		}
		if t.Attempt > t.MaxAttempts {
			return fmt.Errorf("task %s is at attempt %d of %d", t.ID, t.Attempt, t.MaxAttempts)
		}
		db.tasks[t.ID] = t
	}
	for _, a := range c.Attempts {
		if err := db.putAttempt(a); err != nil {
			return err
		}
	}
	for _, id := range c.Release {
		if _, ok := db.reservations[id]; !ok {
			return fmt.Errorf("device %s is released and was not reserved", id)
		}
		delete(db.reservations, id)
	}
	for _, r := range c.Reserve {
		if old, ok := db.reservations[r.DeviceID]; ok {
			return fmt.Errorf("device %s is reserved for %v and for %v", r.DeviceID, old.Attempt, r.Attempt)
		}
		db.reservations[r.DeviceID] = r
	}
	return nil
}

func (db *database) putAttempt(a phonebooth.Attempt) error {
	old, known := db.attempts[a.AttemptKey]
	switch {
	case !known:
		db.attemptOrder = append(db.attemptOrder, a.AttemptKey)
		db.leases[a.LeaseID] = a.AttemptKey
		for _, other := range db.liveAttempts() {
			if other.TaskID == a.TaskID {
				return fmt.Errorf("task %s has live attempts %d and %d", a.TaskID, other.Number, a.Number)
			}
		}
	case !old.Live() && (a.Live() || a.Ending != old.Ending || a.Reported != old.Reported || old.Evidence != nil):
		return fmt.Errorf("attempt %v changes after it ended", a.AttemptKey)
	case old.ClaimID != "" && a.ClaimID != old.ClaimID:
		return fmt.Errorf("attempt %v goes to claims %s and %s", a.AttemptKey, old.ClaimID, a.ClaimID)
	case a.ExpiresAt.Before(old.ExpiresAt):
		return fmt.Errorf("the expiry of attempt %v moves back", a.AttemptKey)
	}
	db.attempts[a.AttemptKey] = a
	return nil
}

// reference is the specification in miniature: what a task may be after each thing that happened to it.
type reference struct {
	tasks map[phonebooth.TaskID]*refTask
	held  map[phonebooth.DeviceID]phonebooth.AttemptKey
	wrong string
}

type refTask struct {
	status    phonebooth.Status
	attempt   int
	max       int
	cancelled bool // asked for while active
	device    phonebooth.DeviceID
}

func newReference() *reference {
	return &reference{tasks: map[phonebooth.TaskID]*refTask{}, held: map[phonebooth.DeviceID]phonebooth.AttemptKey{}}
}

func (ref *reference) must(ok bool, what string) {
	if !ok && ref.wrong == "" {
		ref.wrong = what
	}
}

func (ref *reference) submitted(id phonebooth.TaskID, maxAttempts int) {
	ref.tasks[id] = &refTask{status: phonebooth.Queued, max: maxAttempts}
}

func (ref *reference) placed(id phonebooth.TaskID, device phonebooth.DeviceID) {
	t := ref.tasks[id]
	_, taken := ref.held[device]
	ref.must(t.status == phonebooth.Queued && t.attempt < t.max && !taken, "placed a task or on a device that was not free")
	t.status, t.device, t.attempt = phonebooth.Assigned, device, t.attempt+1
	ref.held[device] = phonebooth.AttemptKey{TaskID: id, Number: t.attempt}
}

func (ref *reference) claimed(key phonebooth.AttemptKey) {
	t := ref.tasks[key.TaskID]
	ref.must(t.status == phonebooth.Assigned && t.attempt == key.Number, "claimed what was not assigned")
	t.status = phonebooth.Dispatched
}

func (ref *reference) cancelRequested(id phonebooth.TaskID) {
	switch t := ref.tasks[id]; t.status {
	case phonebooth.Queued:
		t.status = phonebooth.Cancelled
	case phonebooth.Assigned, phonebooth.Dispatched:
		t.cancelled = true
	}
}

// ended takes the outcome of a report, or "abandoned" for an attempt that ended without one.
func (ref *reference) ended(key phonebooth.AttemptKey, outcome phonebooth.Outcome) {
	t := ref.tasks[key.TaskID]
	ref.must(ref.held[t.device] == key, "ended an attempt that was not the current one")
	delete(ref.held, t.device)
	switch {
	case outcome == phonebooth.OutcomeDone:
		t.status = phonebooth.Done
	case outcome == phonebooth.OutcomeCancelled || t.cancelled:
		t.status = phonebooth.Cancelled
	case outcome == phonebooth.OutcomeAbandoned && t.attempt < t.max:
		t.status = phonebooth.Queued
	default:
		t.status = phonebooth.Failed
	}
	t.cancelled = false
}

// differs says where db is not as the reference expects.
func (ref *reference) differs(db *database) string {
	if ref.wrong != "" {
		return ref.wrong
	}
	for id, want := range ref.tasks {
		got := db.tasks[id]
		if got.Status != want.status || got.Attempt != want.attempt || got.CancelRequested() != want.cancelled {
			return fmt.Sprintf("%s: got %s, attempt %d, cancel %v; want %+v", id, got.Status, got.Attempt, got.CancelRequested(), *want)
		}
	}
	if len(ref.held) != len(db.reservations) {
		return fmt.Sprintf("got reservations %v, want %v", db.reservations, ref.held)
	}
	for id, key := range ref.held {
		if db.reservations[id].Attempt != key {
			return fmt.Sprintf("device %s: got %v, want %v", id, db.reservations[id], key)
		}
	}
	return ""
}
