// Package store says what the control plane asks of a database; package sqlstore gives it, on SQLite and on PostgreSQL.
//
// A store loads rows, locks them, writes them and lists them. It holds no rule: what a row becomes is decided by package
// lifecycle, and only the ledger writes. What it guards whatever anybody believes are three constraints: one reservation a
// device, one live attempt a task, one task an idempotency key.
//
// A Store may be used by any number of goroutines; a Tx by one.
package store

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// Store is one database.
type Store interface {
	Reader

	// Write runs fn in one write transaction and commits it. An error of fn rolls back and is returned as it is. Errors of
	// the database are, by [errors.Is], [ErrConflict] (serialization, deadlock, lock timeout: nothing was written, decide
	// anew), [ErrConstraint] (nothing was written), [ErrOutcomeUnknown] (the connection broke at COMMIT) or
	// [ErrUnavailable]; any other is a fault of ours.
	Write(ctx context.Context, fn func(Tx) error) error

	// Now is the store's clock, the one that leases are counted by: never below the newest written Head.Now.
	Now(ctx context.Context) (time.Time, error)

	// Prune deletes at most limit tasks that ended before the given time, with their attempts, and a batch of the events
	// before it; it returns the tasks that are gone, so that their bytes can follow.
	Prune(ctx context.Context, before time.Time, limit int) ([]phonebooth.TaskID, error)

	// Announce tells every replica that listens, this one too, that there is something new in the record; from is its name.
	// Listen calls heard for each, and once when it has begun to listen; it returns when it cannot hear any more, at the
	// latest with ctx. An announcement may get lost all the same. An embedded database has no other replicas.
	Announce(ctx context.Context, from string) error
	Listen(ctx context.Context, heard func(from string)) error

	// Backup writes a consistent copy to path. Only an embedded database can; others give an error that says how to.
	Backup(ctx context.Context, path string) error

	Close() error
}

// Tx is one write transaction: Load, then Head if it is needed, then Save, each at most once; and Now where it is wanted.
type Tx interface {
	// Load locks the rows of keys, table by table: host, device, task, attempt, each by id; and reads them with the
	// reservations of the devices and what the idempotency keys and workflow names point to. Rows that do not exist are
	// absent. Attempts of HostAttempts hosts and devices of HostDevices hosts are read and locked too. Tasks come without
	// LeaseExpiresAt.
	Load(ctx context.Context, keys Keys) (*Rows, error)
	// Now is the store's clock, read by a statement of its own behind the newest lock.
	Now(ctx context.Context) (time.Time, error)
	// Head locks the head row: always the last lock.
	Head(ctx context.Context) (Head, error)
	// Save writes everything in one pipelined batch: a row that Load gave over the old one, any other as a new one, and
	// what is ended before what begins. Events carry their positions already. head is nil when it was not locked, and may be
	// when the change holds no event and no task that changes the queue's depth.
	Save(ctx context.Context, change lifecycle.Change, head *Head) error
}

// Head is the one row that orders everything: the exact number of queued tasks, the position of the newest event, and the
// time of the newest write.
type Head struct {
	Queued int
	Pos    int64
	Now    time.Time
}

// IdempotencyKey names a submission.
type IdempotencyKey struct{ Subject, Key string }

// ClaimKey names a claim request of a host.
type ClaimKey struct {
	HostID  phonebooth.HostID
	ClaimID string
}

// Keys name the rows that a verb needs.
type Keys struct {
	Hosts        []phonebooth.HostID
	HostDevices  []phonebooth.HostID // with all their devices
	HostAttempts []phonebooth.HostID // with all their live attempts, and the tasks and devices of those
	Devices      []phonebooth.DeviceID
	Tasks        []phonebooth.TaskID
	Attempts     []phonebooth.AttemptKey
	Idempotency  []IdempotencyKey
	Claims       []ClaimKey // read after the host lock; the verb also asks for the host
	Workflows    []string   // the newest version of each
	Leader       bool       // before all others, so that a term that a sweep goes by stays until its end
}

// Rows are loaded rows by key.
type Rows struct {
	Hosts        map[phonebooth.HostID]phonebooth.Host
	Devices      map[phonebooth.DeviceID]phonebooth.Device
	Tasks        map[phonebooth.TaskID]phonebooth.Task
	Attempts     map[phonebooth.AttemptKey]phonebooth.Attempt
	Reservations map[phonebooth.DeviceID]phonebooth.Reservation
	Idempotency  map[IdempotencyKey]phonebooth.TaskID
	Claims       map[ClaimKey][]phonebooth.AttemptKey // what the claim was answered with, ended attempts too
	Workflows    map[string]phonebooth.Workflow       // newest version by name
	Leader       lifecycle.Leader
}

// NewRows is an empty set of rows.
func NewRows() *Rows {
	return &Rows{
		Hosts: map[phonebooth.HostID]phonebooth.Host{}, Devices: map[phonebooth.DeviceID]phonebooth.Device{},
		Tasks: map[phonebooth.TaskID]phonebooth.Task{}, Attempts: map[phonebooth.AttemptKey]phonebooth.Attempt{},
		Reservations: map[phonebooth.DeviceID]phonebooth.Reservation{}, Idempotency: map[IdempotencyKey]phonebooth.TaskID{},
		Claims: map[ClaimKey][]phonebooth.AttemptKey{}, Workflows: map[string]phonebooth.Workflow{},
	}
}

// Live puts together an attempt and the rows around it; false when one of them is not loaded.
func (r *Rows) Live(key phonebooth.AttemptKey) (lifecycle.Live, bool) {
	a, ok1 := r.Attempts[key]
	t, ok2 := r.Tasks[key.TaskID]
	h, ok3 := r.Hosts[a.HostID]
	d, ok4 := r.Devices[a.DeviceID]
	return lifecycle.Live{Host: h, Device: d, Task: t, Attempt: a}, ok1 && ok2 && ok3 && ok4
}

// Reservation is the device's reservation, or nil.
func (r *Rows) Reservation(id phonebooth.DeviceID) *phonebooth.Reservation {
	if v, ok := r.Reservations[id]; ok {
		return &v
	}
	return nil
}
