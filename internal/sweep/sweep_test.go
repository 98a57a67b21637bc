package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/sweep"
)

var policy = lifecycle.NewPolicy(lifecycle.DefaultTTL)

// house is a store and a ledger in one, with one attempt in it, and a clock that a test may push.
type house struct {
	mu     sync.Mutex
	live   lifecycle.Live
	began  time.Time
	push   time.Duration // by which the store's clock leapt
	away   error
	full   error // of writes alone
	pruned []time.Time
	verbs  []string
	ended  time.Time
	term   int64 // of the leader
}

func newHouse(state phonebooth.AttemptState, expires time.Duration) *house {
	now := time.Now()
	key := phonebooth.AttemptKey{TaskID: "task_1", Number: 1}
	h := phonebooth.Host{ID: "host_1", HeardAt: now, PolledAt: now}
	d := phonebooth.Device{ID: "device_1", HostID: h.ID, Condition: phonebooth.Ready, Hold: phonebooth.NoHold}
	status := map[phonebooth.AttemptState]phonebooth.Status{
		phonebooth.AttemptAssigned: phonebooth.Assigned, phonebooth.AttemptDispatched: phonebooth.Dispatched,
	}[state]
	return &house{began: now, live: lifecycle.Live{
		Host: h, Device: d,
		Task:    phonebooth.Task{ID: key.TaskID, Status: status, Attempt: 1, TaskSpec: phonebooth.TaskSpec{MaxAttempts: 1}},
		Attempt: phonebooth.Attempt{AttemptKey: key, HostID: h.ID, DeviceID: d.ID, State: state, ExpiresAt: now.Add(expires)},
	}}
}

func (h *house) Now(context.Context) (time.Time, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.push), h.away
}

func (h *house) Due(_ context.Context, at store.DueTimes, _ int) (store.Due, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var due store.Due
	a := h.live.Attempt
	before := at.Dispatched
	if a.State == phonebooth.AttemptAssigned {
		before = at.Assigned
	}
	if a.Live() && !before.IsZero() && !a.ExpiresAt.After(before) {
		due.Attempts = []phonebooth.Attempt{a}
	}
	if host := h.live.Host; host.SilentSince.IsZero() && !at.Heard.IsZero() && !host.HeardAt.After(at.Heard) {
		due.Silent = []phonebooth.HostID{host.ID}
	}
	return due, h.away
}

func (h *house) Prune(_ context.Context, before time.Time, _ int) ([]phonebooth.TaskID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pruned = append(h.pruned, before)
	if len(h.pruned) == 1 {
		return []phonebooth.TaskID{"task_old"}, nil
	}
	return nil, nil
}

// DoAll decides verbs on the house's rows.
func (h *house) DoAll(_ context.Context, verbs []ledger.Verb) []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	answers := make([]error, len(verbs))
	for i, v := range verbs {
		if answers[i] = h.full; h.full != nil {
			continue
		}
		rows := store.NewRows()
		rows.Leader.Term = h.term
		rows.Hosts[h.live.Host.ID], rows.Devices[h.live.Device.ID] = h.live.Host, h.live.Device
		rows.Tasks[h.live.Task.ID], rows.Attempts[h.live.Attempt.AttemptKey] = h.live.Task, h.live.Attempt
		now := time.Now().Add(h.push)
		change, err := v.Decide(ledger.View{Rows: rows, Now: now})
		if answers[i] = err; err != nil {
			continue
		}
		h.verbs = append(h.verbs, v.Name)
		for _, a := range change.Attempts {
			h.live.Attempt = a
			if !a.Live() {
				h.ended = time.Now()
			}
		}
		for _, host := range change.Hosts {
			h.live.Host = host
		}
	}
	return answers
}

type logs struct{ removed []string }

func (l *logs) Remove(key string) error {
	l.removed = append(l.removed, key)
	return nil
}

// run sweeps h in a bubble for d.
func run(t *testing.T, h interface {
	sweep.Store
	sweep.Ledger
}, l *logs, d time.Duration, during func(),
) {
	t.Helper()
	began := time.Now()
	s := sweep.New(h, h, l, policy, sweep.Options{
		Steady: func() time.Duration { return time.Since(began) + time.Hour }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := s.Run(ctx, 0); err != nil {
			t.Errorf("sweep: %v", err)
		}
	})
	if during != nil {
		during()
	}
	time.Sleep(d - time.Since(began)) // of the bubble: costs nothing
	cancel()
	ended.Wait()
}

func TestS7_1_ADispatchedLeaseIsTakenAGraceAfterItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, 2*time.Minute)
		run(t, h, &logs{}, 4*time.Minute, nil)
		after := h.ended.Sub(h.began)
		if min, max := 2*time.Minute+policy.Grace, 2*time.Minute+policy.Grace+2*time.Second; after < min || after > max {
			t.Errorf("taken after %v, want between %v and %v", after, min, max)
		}
	})
}

func TestC08_AfterAStartDispatchedLeasesAreLeftAloneAndAssignedOnesGetANewWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, -time.Minute)
		run(t, h, &logs{}, 2*time.Minute, nil)
		if after := h.ended.Sub(h.began); after < policy.TTL+policy.Grace || after > policy.TTL+policy.Grace+2*time.Second {
			t.Errorf("a dispatched lease was taken after %v, want a lease and a grace", after)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptAssigned, -time.Minute)
		run(t, h, &logs{}, time.Minute, nil)
		if after := h.ended.Sub(h.began); after < policy.ClaimWindow || after > policy.ClaimWindow+2*time.Second {
			t.Errorf("an assigned attempt was taken after %v, want a new claim window", after)
		}
	})
}

func TestTheSweepHoldsBackAfterTheStoreWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, 2*time.Minute)
		run(t, h, &logs{}, 5*time.Minute, func() {
			time.Sleep(100 * time.Second)
			h.setAway(errors.New("gone"))
			time.Sleep(30 * time.Second)
			h.setAway(nil)
		})
		back := 130 * time.Second
		if after := h.ended.Sub(h.began); after < back+policy.TTL+policy.Grace {
			t.Errorf("taken after %v, want not before %v", after, back+policy.TTL+policy.Grace)
		}
	})
}

func TestTheSweepHoldsBackAfterTheStoreCouldOnlyBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, time.Minute)
		h.live.Host.SilentSince = h.began // so that the lease alone is due
		h.full = phonebooth.Errorf(phonebooth.Unavailable, "store_full", "no room")
		tried := time.Minute + policy.Grace
		run(t, h, &logs{}, 5*time.Minute, func() {
			time.Sleep(tried + 2*time.Second)
			h.mu.Lock()
			h.full = nil
			h.mu.Unlock()
		})
		if after := h.ended.Sub(h.began); after < tried+policy.TTL+policy.Grace {
			t.Errorf("taken after %v, want not before %v", after, tried+policy.TTL+policy.Grace)
		}
	})
}

func TestTheSweepHoldsBackAfterALeapOfTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, 10*time.Minute)
		run(t, h, &logs{}, 5*time.Minute, func() {
			time.Sleep(100 * time.Second)
			h.mu.Lock()
			h.push = time.Hour
			h.mu.Unlock()
		})
		if after := h.ended.Sub(h.began); after < 100*time.Second+policy.TTL+policy.Grace {
			t.Errorf("taken after %v, want a lease and a grace after the leap", after)
		}
	})
}

func TestC26_ASilentHostIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, time.Hour)
		run(t, h, &logs{}, 2*time.Minute, nil)
		if since := h.live.Host.SilentSince.Sub(h.began); since < policy.HostSilence || since > policy.HostSilence+2*time.Second {
			t.Errorf("silent after %v, want %v", since, policy.HostSilence)
		}
	})
}

func TestRetentionPrunesAndRemovesLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, l := newHouse(phonebooth.AttemptEnded, 0), &logs{}
		run(t, h, l, 150*time.Second, nil)
		if len(h.pruned) != 3 {
			t.Fatalf("pruned %d times in 150 s, want once a minute", len(h.pruned))
		}
		if age := h.began.Sub(h.pruned[0]); age < 30*24*time.Hour-time.Minute || age > 30*24*time.Hour+time.Minute {
			t.Errorf("kept for %v, want 30 days", age)
		}
		if !slices.Equal(l.removed, []string{"task_old"}) {
			t.Errorf("logs removed %v, want those of the pruned task", l.removed)
		}
	})
}

func (h *house) setAway(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = err
}

// What a leader wants to end behind the end of its time stays: another one decides about it now.
func TestASweepOfAnOlderTermEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(phonebooth.AttemptDispatched, time.Second)
		h.term = 1 // run sweeps in term 0
		run(t, h, &logs{}, 10*time.Minute, nil)
		if !h.ended.IsZero() || len(h.verbs) > 0 {
			t.Errorf("ended at %v; verbs %v", h.ended, h.verbs)
		}
	})
}
