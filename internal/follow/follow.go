// Package follow brings to one replica what the others commit. The record of events has a position for every commit, without
// gaps, so what is missing between our own is theirs; the rows that their events name are read, and handed on as a commit
// of our own would be.
//
//	f := follow.New(store, deliver, follow.Options{})
//	ledger.Subscribe(f.Own)
//	err := f.Run(ctx)
//
// Replicas announce that there is something new, many commits in one announcement and outside of their transactions. An
// announcement may get lost: the record is looked at regardless, and what only that look found is counted.
//
// What is handed on is newer than its events or as old, and may come behind later commits of our own: the receiver goes by
// revisions. Commits whose answer got lost are among what is handed on. Own may be called while Run runs.
package follow

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/reach"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Store is what the follower asks of a database.
type Store interface {
	Head(ctx context.Context) (store.Head, error)
	Events(ctx context.Context, filter store.EventFilter) ([]phonebooth.Event, error)
	Rows(ctx context.Context, keys store.Keys) (*store.Rows, error)
	Announce(ctx context.Context, from string) error
	Listen(ctx context.Context, heard func(from string)) error
}

// Options tune a Follower; the zero value is production.
type Options struct {
	PollEvery time.Duration // how often the record is looked at unasked; 0: 1 s
	// ObserveMissed is told how many events of others were found though nobody has announced them. May be nil.
	ObserveMissed func(events int)
	Log           *slog.Logger // nil: slog.Default
}

const (
	defaultPoll = time.Second
	page        = 500 // events in one read
	retryAfter  = time.Second
)

// Follower follows the record.
type Follower struct {
	store   Store
	deliver func(ledger.Commit)
	opts    Options
	name    string

	began    chan struct{} // closed when the first position is known
	news     chan struct{} // holds one when others have something new
	announce chan struct{} // holds one when we have

	mu   sync.Mutex
	seen reach.Reach // what is known here, by whomever
	// Events that a look unasked has found. Their announcement may be on its way, or Own.
	unannounced map[int64]bool
}

// New is a follower that hands on to deliver, one commit at a time.
func New(st Store, deliver func(ledger.Commit), opts Options) *Follower {
	if opts.PollEvery == 0 {
		opts.PollEvery = defaultPoll
	}
	if opts.ObserveMissed == nil {
		opts.ObserveMissed = func(int) {}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Follower{
		store: st, deliver: deliver, opts: opts, name: rand.Text(), began: make(chan struct{}), unannounced: map[int64]bool{},
		news: make(chan struct{}, 1), announce: make(chan struct{}, 1),
	}
}

// Own notes a commit of this replica, and has it announced. It never blocks.
func (f *Follower) Own(c ledger.Commit) {
	if len(c.Events) == 0 {
		return
	}
	f.mu.Lock()
	f.seen.Add(c.Events[0].Pos, c.Events[len(c.Events)-1].Pos)
	for _, e := range c.Events {
		delete(f.unannounced, e.Pos)
	}
	f.mu.Unlock()
	poke(f.announce)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Began is closed when Run has found its first position: what is read from the store after that misses nothing.
func (f *Follower) Began() <-chan struct{} { return f.began }

// Run follows until ctx ends, from the position at its beginning on. A database that is away is waited for.
func (f *Follower) Run(ctx context.Context) error {
	if !f.begin(ctx) {
		return nil
	}
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { f.announcing(ctx) })
	both.Go(func() { f.listening(ctx) })
	poll := time.NewTicker(f.opts.PollEvery)
	defer poll.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-f.news:
			asked = true
			f.forget()
		case <-poll.C:
			if n := f.forget(); n > 0 {
				f.opts.ObserveMissed(n)
			}
		}
		if err := f.catchUp(ctx, asked); err != nil && ctx.Err() == nil {
			f.opts.Log.Warn("the record cannot be followed", "error", err)
		}
	}
}

// forget says how many events nobody has announced since they were found.
func (f *Follower) forget() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.unannounced)
	clear(f.unannounced)
	return n
}

// begin finds the position from which on everything is handed on.
func (f *Follower) begin(ctx context.Context) bool {
	for {
		head, err := f.store.Head(ctx)
		if err == nil {
			f.mu.Lock()
			f.seen.Jump(head.Pos)
			f.mu.Unlock()
			close(f.began)
			return true
		}
		if !pause(ctx, retryAfter) {
			return false
		}
	}
}

// announcing tells the others of our commits: however many there were during one announcement, the next is one.
func (f *Follower) announcing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.announce:
		}
		if err := f.store.Announce(ctx, f.name); err != nil && ctx.Err() == nil {
			f.opts.Log.Debug("our commits could not be announced", "error", err)
			pause(ctx, retryAfter)
			poke(f.announce)
		}
	}
}

// listening hears the others' announcements. After every beginning the record is looked at: nothing was heard before.
func (f *Follower) listening(ctx context.Context) {
	for {
		err := f.store.Listen(ctx, func(from string) {
			if from != f.name {
				poke(f.news)
			}
		})
		if ctx.Err() != nil {
			return
		}
		f.opts.Log.Warn("announcements of other replicas are not heard", "error", err)
		pause(ctx, retryAfter)
	}
}

// catchUp hands on everything of others up to the end of the record; asked says that an announcement was heard.
func (f *Follower) catchUp(ctx context.Context, asked bool) error {
	for {
		f.mu.Lock()
		after := f.seen.UpTo()
		f.mu.Unlock()
		events, err := f.store.Events(ctx, store.EventFilter{After: after, Limit: page})
		if err != nil {
			return err
		}
		theirs := f.theirs(events, asked)
		if len(theirs) > 0 {
			rows, err := f.store.Rows(ctx, keysOf(theirs))
			if err != nil {
				return err
			}
			for _, run := range side(theirs) {
				f.deliver(ledger.Commit{Change: changeOf(run, rows), Now: run[len(run)-1].At})
			}
		}
		if len(events) > 0 {
			f.mu.Lock()
			f.seen.Add(events[0].Pos, events[len(events)-1].Pos)
			f.seen.Jump(events[0].Pos - 1) // older ones have passed their retention
			f.mu.Unlock()
		}
		if len(events) < page {
			return nil
		}
	}
}

// theirs are those events that no commit of ours is known to have written. Unless an announcement was heard, they are kept in
// mind until one has had its time.
func (f *Follower) theirs(events []phonebooth.Event, asked bool) (theirs []phonebooth.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if !f.seen.Has(e.Pos, e.Pos) {
			theirs = append(theirs, e)
			if !asked {
				f.unannounced[e.Pos] = true
			}
		}
	}
	return theirs
}

// side cuts events into runs that stand side by side.
func side(events []phonebooth.Event) (runs [][]phonebooth.Event) {
	begin := 0
	for i := range events {
		if i+1 == len(events) || events[i+1].Pos != events[i].Pos+1 {
			runs = append(runs, events[begin:i+1])
			begin = i + 1
		}
	}
	return runs
}

// keysOf name every row that events speak of.
func keysOf(events []phonebooth.Event) (keys store.Keys) {
	for _, e := range events {
		if e.HostID != "" {
			keys.Hosts = append(keys.Hosts, e.HostID)
		}
		if e.DeviceID != "" {
			keys.Devices = append(keys.Devices, e.DeviceID)
		}
		if e.TaskID != "" {
			keys.Tasks = append(keys.Tasks, e.TaskID)
			if e.Attempt > 0 {
				keys.Attempts = append(keys.Attempts, phonebooth.AttemptKey{TaskID: e.TaskID, Number: e.Attempt})
			}
		}
	}
	return keys
}

// changeOf is what a run of events has changed, as the rows are now, each once.
func changeOf(run []phonebooth.Event, rows *store.Rows) lifecycle.Change {
	c := lifecycle.Change{Events: run}
	done := map[any]bool{}
	first := func(key any) bool {
		again := done[key]
		done[key] = true
		return !again
	}
	for _, e := range run {
		if h, ok := rows.Hosts[e.HostID]; ok && first(e.HostID) {
			c.Hosts = append(c.Hosts, h)
		}
		if d, ok := rows.Devices[e.DeviceID]; ok && first(e.DeviceID) {
			c.Devices = append(c.Devices, d)
			if r, held := rows.Reservations[d.ID]; held {
				c.Reserve = append(c.Reserve, r)
			} else {
				c.Release = append(c.Release, d.ID)
			}
		}
		if t, ok := rows.Tasks[e.TaskID]; ok && first(e.TaskID) {
			c.Tasks = append(c.Tasks, t)
		}
		key := phonebooth.AttemptKey{TaskID: e.TaskID, Number: e.Attempt}
		if a, ok := rows.Attempts[key]; ok && first(key) {
			c.Attempts = append(c.Attempts, a)
		}
	}
	return c
}

// pause waits; false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
