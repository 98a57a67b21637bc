package scheduler

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"log/slog"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Reader is what the scheduler reads of the store.
type Reader interface {
	Snapshot(ctx context.Context) (store.Snapshot, error)
	Head(ctx context.Context) (store.Head, error)
	Task(ctx context.Context, id phonebooth.TaskID) (phonebooth.Task, error)
	Attempts(ctx context.Context, task phonebooth.TaskID) ([]phonebooth.Attempt, error)
	Host(ctx context.Context, id phonebooth.HostID) (phonebooth.Host, error)
	Device(ctx context.Context, id phonebooth.DeviceID) (phonebooth.Device, error)
	AttemptOnDevice(ctx context.Context, device phonebooth.DeviceID) (phonebooth.Attempt, error)
}

// Place binds each task to its device, or says why not: one answer for each placement, nil when it is committed. The commits
// must have been given to [Scheduler.Apply] before it returns. It is called from several goroutines at once.
type Place func(ctx context.Context, placements []lifecycle.Placement) []error

// Options tune a Scheduler; the zero value is production.
type Options struct {
	// CompareEvery is the interval between two comparisons of index and store: 60 s.
	CompareEvery time.Duration
	// OnDifference is told how many rows of the index were not as in the store. They have been repaired.
	OnDifference func(rows int)
	// RetryAfter is the pause before the store is asked again after it was away, and before a task is planned again that was
	// refused though nothing about it has changed: 1 s.
	RetryAfter time.Duration
	// Followed says that the commits of other replicas are applied too, soon, though not in the order of commits. Without it
	// a commit that is missing is made good by a comparison at once.
	Followed bool
	// Standby plans nothing before [Scheduler.SetLeading] says so; the index is kept all the same.
	Standby bool
	// Tick is called at least every second while Run does its work. May be nil.
	Tick func()
	// Log is where decisions go: slog.Default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.CompareEvery = cmp.Or(o.CompareEvery, time.Minute)
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Tick == nil {
		o.Tick = func() {}
	}
	if o.OnDifference == nil {
		o.OnDifference = func(int) {}
	}
	return o
}

// newLeaseID draws a lease id: 160 bits that nobody can guess.
func newLeaseID() phonebooth.LeaseID {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return phonebooth.LeaseID("lease_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:])))
}
