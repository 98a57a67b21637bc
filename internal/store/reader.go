package store

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// Errors of a database that callers branch on.
var (
	ErrNotFound       = errors.New("not found")
	ErrConflict       = errors.New("the transaction met another one")
	ErrConstraint     = errors.New("a constraint of the database forbids it")
	ErrOutcomeUnknown = errors.New("the connection broke while committing")
	ErrUnavailable    = errors.New("the database is not available")
	ErrNewer          = errors.New("the database was made by a newer version")
	ErrFull           = errors.New("the disk of the database is full")
)

// Reader reads without locks. A single row that does not exist is [ErrNotFound]. Tasks carry LeaseExpiresAt of their live
// attempt.
type Reader interface {
	Task(ctx context.Context, id phonebooth.TaskID) (phonebooth.Task, error)
	Tasks(ctx context.Context, filter TaskFilter) (TaskPage, error)
	Attempts(ctx context.Context, task phonebooth.TaskID) ([]phonebooth.Attempt, error) // by number
	AttemptOfLease(ctx context.Context, lease phonebooth.LeaseID) (phonebooth.Attempt, error)
	AttemptOnDevice(ctx context.Context, device phonebooth.DeviceID) (phonebooth.Attempt, error) // the live one
	LiveAttempts(ctx context.Context, host phonebooth.HostID) ([]phonebooth.Attempt, error)

	Host(ctx context.Context, id phonebooth.HostID) (phonebooth.Host, error)
	Hosts(ctx context.Context) ([]phonebooth.Host, error) // also removed ones
	HostOfToken(ctx context.Context, tokenHash string) (phonebooth.Host, error)
	Device(ctx context.Context, id phonebooth.DeviceID) (phonebooth.Device, error)
	Devices(ctx context.Context) ([]phonebooth.Device, error)
	Reservations(ctx context.Context) ([]phonebooth.Reservation, error)

	Workflow(ctx context.Context, name string, version int) (phonebooth.Workflow, error) // version 0: the newest
	Workflows(ctx context.Context) ([]phonebooth.Workflow, error)                        // the newest version of each

	// FinishedAt is when each of the tasks ended: the zero time of one that has not, and nothing of one that is not there.
	FinishedAt(ctx context.Context, ids []phonebooth.TaskID) (map[phonebooth.TaskID]time.Time, error)

	Events(ctx context.Context, filter EventFilter) ([]phonebooth.Event, error)
	EventPage(ctx context.Context, filter EventFilter) (EventPage, error)
	EventSpan(ctx context.Context) (EventSpan, error)
	// EventSince is the position behind which the events at or after a time are.
	EventSince(ctx context.Context, at time.Time) (after int64, err error)
	Timeline(ctx context.Context, q TimelineQuery) (Timeline, error)
	Head(ctx context.Context) (Head, error)
	Overview(ctx context.Context, since time.Time, failures int) (Overview, error) // minutes since, the last failures
	Leader(ctx context.Context) (lifecycle.Leader, error)
	Snapshot(ctx context.Context) (Snapshot, error)
	// Rows reads what keys name, without locks, as of one moment.
	Rows(ctx context.Context, keys Keys) (*Rows, error)
	Due(ctx context.Context, at DueTimes, limit int) (Due, error)

	// Enrollment tokens and the admin token: see package auth. PutToken with a hash that is there changes nothing.
	PutToken(ctx context.Context, token Token) error
	Token(ctx context.Context, hash string) (Token, error)
	// SpendToken binds a one-time token to a host id: the first call wins, a repeat for the same host succeeds, any other
	// gets ErrConstraint.
	SpendToken(ctx context.Context, hash string, host phonebooth.HostID) error
}

// Token is a stored secret: only its hash.
type Token struct {
	Hash      string
	Kind      string // "admin" or "enrollment"
	Name      string
	ExpiresAt time.Time         // zero: never
	SpentBy   phonebooth.HostID // of an enrollment that was used
	CreatedAt time.Time
}

// Snapshot is everything the scheduler's index needs, read in one transaction, as of event position Pos.
type Snapshot struct {
	Pos          int64
	Tasks        []phonebooth.Task // the queued ones
	Devices      []phonebooth.Device
	Hosts        []phonebooth.Host
	Reservations []phonebooth.Reservation
	Failed       map[phonebooth.TaskID][]phonebooth.DeviceID // devices on which a queued task already ended an attempt
}

// DueTimes are the times that [Reader.Due] compares with. A zero time asks for none of that kind.
type DueTimes struct {
	Assigned   time.Time // assigned attempts that expire at or before it
	Dispatched time.Time // dispatched attempts that expire at or before it
	Queue      time.Time // queued tasks whose queue deadline is at or before it
	Heard      time.Time // hosts not heard since it, and not silent yet
	Polled     time.Time // hosts that have not asked for work since it, and are not deaf yet
}

// Due is what may be due; the ledger decides again on locked rows.
type Due struct {
	Attempts []phonebooth.Attempt
	Tasks    []phonebooth.TaskID
	Silent   []phonebooth.HostID
	Deaf     []phonebooth.HostID
}
