package sweep_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// crowd is many houses that share a store.
type crowd []*house

func (c crowd) Now(ctx context.Context) (time.Time, error) { return c[0].Now(ctx) }

func (c crowd) Prune(context.Context, time.Time, int) ([]phonebooth.TaskID, error) { return nil, nil }

// Due gives those that are due, as few as are asked for. The houses are in the order of their expiry when it begins.
func (c crowd) Due(ctx context.Context, at store.DueTimes, limit int) (all store.Due, err error) {
	for _, h := range c {
		due, err := h.Due(ctx, at, limit)
		if err != nil {
			return all, err
		}
		if len(all.Attempts) < limit {
			all.Attempts = append(all.Attempts, due.Attempts...)
		}
	}
	return all, nil
}

// DoAll asks the house that a verb is about.
func (c crowd) DoAll(ctx context.Context, verbs []ledger.Verb) (errs []error) {
	for _, v := range verbs {
		keys, err := v.Keys(ctx, nil)
		if err != nil || len(keys.Tasks) != 1 {
			errs = append(errs, fmt.Errorf("a verb about %v: %w", keys, err))
			continue
		}
		for _, h := range c {
			if h.live.Task.ID == keys.Tasks[0] {
				errs = append(errs, h.DoAll(ctx, []ledger.Verb{v})...)
			}
		}
	}
	return errs
}

func TestC08_EveryAssignedAttemptOfALargePoolGetsOneNewWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crowd
		for i := range 1100 {
			h := newHouse(phonebooth.AttemptAssigned, -time.Minute)
			h.live.Task.ID = phonebooth.TaskID(fmt.Sprintf("task_%d", i))
			h.live.Attempt.TaskID = h.live.Task.ID
			c = append(c, h)
		}
		run(t, c, &logs{}, time.Minute, nil)
		for i, h := range c {
			if after := h.ended.Sub(h.began); after < policy.ClaimWindow || after > policy.ClaimWindow+10*time.Second {
				t.Fatalf("attempt %d was taken after %v, want one new claim window", i, after)
			}
		}
	})
}
