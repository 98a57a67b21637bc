package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// wantRefused writes a change that a constraint forbids, and sees that nothing of it is there.
func wantRefused(t *testing.T, st store.Store, change lifecycle.Change) {
	t.Helper()
	before := must[store.Head](t)(st.Head(t.Context()))
	change.Hosts = append(change.Hosts, host("h9"))
	wantError(t, "the write", put(t, st, change), store.ErrConstraint)
	_, err := st.Host(t.Context(), "h9")
	wantError(t, "a row that was written with it", err, store.ErrNotFound)
	same(t, "head", must[store.Head](t)(st.Head(t.Context())), before)
	CheckInvariants(t, st)
}

func oneReservation(t *testing.T, st store.Store) {
	pool(t, st)
	mustPut(t, st, placed(task("t1", 1), device("d1", "h1")))
	wantRefused(t, st, placed(task("t2", 2), device("d1", "h1")))
}

func oneLiveAttempt(t *testing.T, st store.Store) {
	pool(t, st)
	first := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, first)
	wantRefused(t, st, placed(first.Tasks[0], device("d2", "h1")))
}

func oneTaskAKey(t *testing.T, st store.Store) {
	pool(t, st)
	keyed := func(id phonebooth.TaskID, seq int64, subject, key string) lifecycle.Change {
		v := task(id, seq)
		v.Submission = phonebooth.Submission{Subject: subject, IdempotencyKey: key}
		return lifecycle.Change{Tasks: []phonebooth.Task{v}, Events: []phonebooth.Event{submitted(v)}}
	}
	mustPut(t, st, keyed("t4", 4, "admin", "k"))
	mustPut(t, st, keyed("t5", 5, "somebody", "k"))
	mustPut(t, st, keyed("t6", 6, "admin", ""))
	mustPut(t, st, keyed("t7", 7, "admin", ""))
	wantRefused(t, st, keyed("t8", 8, "admin", "k"))
}

func oneAttemptALease(t *testing.T, st store.Store) {
	pool(t, st)
	mustPut(t, st, placed(task("t1", 1), device("d1", "h1")))
	second := placed(task("t2", 2), device("d2", "h1"))
	second.Attempts[0].LeaseID = attempt("t1", 1, device("d1", "h1")).LeaseID
	wantRefused(t, st, second)
}

func oneEventAPosition(t *testing.T, st store.Store) {
	pool(t, st)
	err := st.Write(t.Context(), func(tx store.Tx) error {
		return tx.Save(t.Context(), lifecycle.Change{Events: []phonebooth.Event{{Pos: 2, At: base, Kind: phonebooth.HostSilent}}}, nil)
	})
	wantError(t, "a second event at a position", err, store.ErrConstraint)
}

// changesHands ends an attempt and begins another on the same device and for the same task, all in one change.
func changesHands(t *testing.T, st store.Store) {
	pool(t, st)
	first := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, first)
	second := placed(first.Tasks[0], device("d1", "h1"))
	second.Attempts = append(second.Attempts, ended(first.Attempts[0]))
	second.Release = []phonebooth.DeviceID{"d1"}
	mustPut(t, st, second)
	same(t, "the device's attempt", must[phonebooth.Attempt](t)(st.AttemptOnDevice(t.Context(), "d1")), second.Attempts[0])
	CheckInvariants(t, st)
}

// clockAboveHead also sees that the time goes on from there: it must not stand still until the clock has caught up.
func clockAboveHead(t *testing.T, st store.Store) {
	future := must[time.Time](t)(st.Now(t.Context())).Add(time.Hour)
	err := st.Write(t.Context(), func(tx store.Tx) error {
		return save(t.Context(), tx, lifecycle.Change{Events: []phonebooth.Event{{Kind: phonebooth.HostSilent}}}, future)
	})
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now := must[time.Time](t)(st.Now(t.Context()))
		if now.Before(future) {
			t.Errorf("now is %v, before the newest write at %v", now, future)
		}
		if now.After(future) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the clock stands still")
		}
	}
	err = st.Write(t.Context(), func(tx store.Tx) error {
		if now := must[time.Time](t)(tx.Now(t.Context())); now.Before(future) {
			t.Errorf("in a transaction now is %v, before the newest write at %v", now, future)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("write: %v", err)
	}
}

// clockMoves sees that a transaction that had to wait for its locks is not given the time of its beginning.
func clockMoves(t *testing.T, st store.Store) {
	err := st.Write(t.Context(), func(tx store.Tx) error {
		begin := must[time.Time](t)(tx.Now(t.Context()))
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if _, err := tx.Head(t.Context()); err != nil {
				return err
			}
			now := must[time.Time](t)(tx.Now(t.Context()))
			if now != now.Truncate(time.Microsecond) || now.Location() != time.UTC {
				t.Errorf("now is %v, want microseconds in UTC", now)
			}
			if now.After(begin) {
				return nil
			}
		}
		return errors.New("the clock stands still")
	})
	if err != nil {
		t.Fatalf("write: %v", err)
	}
}

func cancelledWritesNothing(t *testing.T, st store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := st.Write(ctx, func(tx store.Tx) error {
		if err := save(ctx, tx, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}}, base); err != nil {
			return err
		}
		cancel()
		_, err := tx.Head(ctx)
		return err
	})
	wantError(t, "a write whose caller has gone", err, context.Canceled)
	wantNoHost(t, st)
}
