// Package control holds the use cases of the control plane, one file a verb: what the API offers, without HTTP and without
// SQL. Reads go to the store; every change goes through the ledger as a verb whose decision is package lifecycle's.
//
//	c := control.New(store, ledger, blobs, control.Options{})
//	task, replayed, err := c.Submit(ctx, caller, spec, key, hash)
//
// Errors are [phonebooth.Error] values, ready for a problem. All methods may be called by any number of goroutines. The
// control plane never touches a device (S4.3): it hands assignments to hosts that ask, and takes their word.
package control

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Caller is on whose behalf a use case runs.
type Caller struct {
	Actor     string // for events: "admin", "host:NAME"
	Subject   string // whose idempotency keys
	RequestID string
}

// Options tune a Control; the zero value is production.
type Options struct {
	Policy        lifecycle.Policy // zero: NewPolicy(DefaultTTL)
	MaxQueueDepth int              // 0: 1,000,000
	// Waits is the scheduler's word on a queued task, or on one that is not submitted; without it neither can be explained.
	Waits func(ctx context.Context, t phonebooth.Task) (v1.Wait, error)
	// Lanes is the scheduler's word on the longest lanes of the queue, and on how many there are. Without it overviews have none.
	Lanes func(limit int) ([]v1.Lane, int)
	// Steady is the clock that parked requests are measured by; nil: the machine's boot clock.
	Steady func() time.Duration
	// ObserveRenewal is told how much of a lease was left when it was renewed. May be nil.
	ObserveRenewal func(left time.Duration)
	// ObserveLost is told why a renewal was refused. May be nil.
	ObserveLost func(reason string)
}

// DefaultMaxQueueDepth is how many queued tasks are allowed unless configured otherwise.
const DefaultMaxQueueDepth = 1_000_000

// Control is the set of use cases over one store and one ledger.
type Control struct {
	store   store.Store
	ledger  *ledger.Ledger
	blobs   *blob.Store
	opts    Options
	parks   *parks
	feed    *feed
	watches watches
}

// New makes the use cases and subscribes to l, which must not run yet.
func New(st store.Store, l *ledger.Ledger, blobs *blob.Store, opts Options) *Control {
	if opts.Policy == (lifecycle.Policy{}) {
		opts.Policy = lifecycle.NewPolicy(lifecycle.DefaultTTL)
	}
	if opts.MaxQueueDepth == 0 {
		opts.MaxQueueDepth = DefaultMaxQueueDepth
	}
	if opts.Steady == nil {
		opts.Steady = boottime.Now
	}
	if opts.ObserveRenewal == nil {
		opts.ObserveRenewal = func(time.Duration) {}
	}
	if opts.ObserveLost == nil {
		opts.ObserveLost = func(string) {}
	}
	c := &Control{store: st, ledger: l, blobs: blobs, opts: opts, parks: newParks(), feed: newFeed()}
	l.Subscribe(c.Committed)
	return c
}

// Committed tells those who wait of a commit; of this replica's ledger it is told already.
func (c *Control) Committed(commit ledger.Commit) {
	c.parks.wake(commit.Attempts)
	c.parks.hurry(commit.Events)
	c.feed.advance(commit.Events)
	c.watches.moved(commit.Events)
}

// Policy is the lease protocol's numbers.
func (c *Control) Policy() lifecycle.Policy { return c.opts.Policy }

// readyTimeout is how long the store may take to prove that it is there.
const readyTimeout = 2 * time.Second

// Ready says whether requests can be answered: the store is there.
func (c *Control) Ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, readyTimeout)
	defer stop()
	_, err := c.store.Now(ctx)
	return answer(err, nil)
}

// Close answers every parked request empty, and every later one at once; so that a server can stop.
func (c *Control) Close() { c.parks.close() }

// verb starts a ledger verb on by's behalf.
func verb(name string, by Caller) ledger.Verb {
	return ledger.Verb{Name: name, Actor: by.Actor, RequestID: by.RequestID}
}

// fixed are keys that are known without a read.
func fixed(keys store.Keys) func(context.Context, store.Reader) (store.Keys, error) {
	return func(context.Context, store.Reader) (store.Keys, error) { return keys, nil }
}

// answer turns the error of a read into one for the caller; unknown is the answer for a row that does not exist.
func answer(err error, unknown *phonebooth.Error) error {
	var known *phonebooth.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, store.ErrNotFound) && unknown != nil:
		return unknown
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrConflict):
		return phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the database is not available; try again").Because(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return phonebooth.Errorf(phonebooth.Internal, "internal", "something went wrong on our side; the log has it").Because(err)
}

func unknownTask() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "task_unknown", "there is no task with this id; it may have been removed after its retention")
}

func unknownDevice() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "device_unknown", "there is no device with this id; list the devices to see what there is")
}

func unknownHost() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "host_unknown", "there is no host with this id; list the hosts to see what there is")
}

func unknownLease() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "lease_unknown", "this host has no such lease")
}

func unknownWorkflow() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "workflow_unknown", "there is no such workflow or version; list the workflows to see what there is")
}
