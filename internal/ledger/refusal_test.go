package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// keyless is a submission that does not look whether its key is taken, as a bug would.
func keyless(id phonebooth.TaskID, key string) ledger.Verb {
	v := submit(id, key, 1000)
	v.Decide = func(v ledger.View) (lifecycle.Change, error) {
		return lifecycle.Submit(id, spec(), phonebooth.Submission{Subject: "admin", IdempotencyKey: key}, 0, 1000, v.Now)
	}
	return v
}

func TestC47_OneVerbThatHitsAConstraintHarmsNoNeighbour(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const neighbours = 255
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		must(t, l.Do(t.Context(), submit("first", "taken", 1000)))
		var verbs []ledger.Verb
		for i := range neighbours + 1 {
			verbs = append(verbs, submit(phonebooth.TaskID(fmt.Sprintf("t%03d", i)), fmt.Sprint(i), 1000))
		}
		verbs[100] = keyless("t100", "taken")
		for i, err := range l.DoAll(t.Context(), verbs) {
			if i == 100 && !errors.Is(err, store.ErrConstraint) {
				t.Errorf("the culprit got %v, want the constraint", err)
			}
			if i != 100 && err != nil {
				t.Errorf("neighbour %d got %v", i, err)
			}
		}
		if got := len(allTasks(t, st)); got != 1+neighbours {
			t.Errorf("%d tasks are stored, want %d", got, 1+neighbours)
		}
	})
}

func TestS5_2_TheStoreRefusesASecondReservationWhateverIsBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		d := addHost(t, l, "h1", 1)[0]
		mustAll(t, l.DoAll(t.Context(), []ledger.Verb{submit("t1", "", 9), submit("t2", "", 9), submit("t3", "", 9)}))

		// Both in one batch: the older one gets it.
		errs := l.DoAll(t.Context(), []ledger.Verb{place("t1", d, true), place("t2", d, true)})
		if errs[0] != nil || !errors.Is(errs[1], store.ErrConstraint) {
			t.Errorf("in one batch: got %v, want none and the constraint", errs)
		}
		// One against what is stored.
		if err := l.Do(t.Context(), place("t3", d, true)); !errors.Is(err, store.ErrConstraint) {
			t.Errorf("against a stored reservation: got %v, want the constraint", err)
		}
		for id, want := range map[phonebooth.TaskID]phonebooth.Status{"t1": phonebooth.Assigned, "t2": phonebooth.Queued, "t3": phonebooth.Queued} {
			if got := taskOf(t, st, id).Status; got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
	})
}

func TestAPanicIsOneVerbsTrouble(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		mad := submit("t2", "", 9)
		mad.Decide = func(ledger.View) (lifecycle.Change, error) { panic("secret detail") }
		errs := l.DoAll(t.Context(), []ledger.Verb{submit("t1", "", 9), mad, submit("t3", "", 9)})
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the neighbours got %v and %v", errs[0], errs[2])
		}
		wantCode(t, "the verb that panicked", errs[1], "internal")
		if strings.Contains(errs[1].Error(), "secret") {
			t.Errorf("the panic leaked into the answer: %v", errs[1])
		}
		must(t, l.Do(t.Context(), submit("t4", "", 9)))
	})
}

func TestRowsThatTheDatabaseCannotHoldHarmNoNeighbour(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		odd := submit("t2", "", 9)
		decide := odd.Decide
		odd.Decide = func(v ledger.View) (lifecycle.Change, error) {
			c, err := decide(v)
			c.Tasks[0].Goal = "\xff\x00" // no text for PostgreSQL
			return c, err
		}
		errs := l.DoAll(t.Context(), []ledger.Verb{submit("t1", "", 9), odd, submit("t3", "", 9)})
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the neighbours got %v and %v", errs[0], errs[2])
		}
		if _, err := st.Task(t.Context(), "t2"); (err == nil) != (errs[1] == nil) {
			t.Errorf("the answer is %v, and reading the task gives %v", errs[1], err)
		}
	})
}

func TestAVerbWhoseRowsMovedIsTriedAgainThreeTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		moving := func(times int) (v ledger.Verb, looked *int) {
			looked = new(int)
			v = submit("t1", "", 9)
			decide := v.Decide
			v.Keys = func(context.Context, store.Reader) (store.Keys, error) { *looked++; return store.Keys{}, nil }
			v.Decide = func(view ledger.View) (lifecycle.Change, error) {
				if *looked <= times {
					return lifecycle.Change{}, ledger.ErrMoved
				}
				return decide(view)
			}
			return v, looked
		}
		often, looked := moving(4)
		wantCode(t, "moved four times", l.Do(t.Context(), often), "store_unavailable")
		if *looked != 4 {
			t.Errorf("the keys were looked up %d times, want 4", *looked)
		}
		still, looked := moving(3)
		must(t, l.Do(t.Context(), still))
		if *looked != 4 {
			t.Errorf("the keys were looked up %d times, want 4", *looked)
		}
	})
}

func TestAFullDiskRefusesSubmissionsBeforeReports(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		space := true
		l := start(t, st, ledger.Options{FreeSpace: func() bool { return space }})
		d := addHost(t, l, "h1", 1)[0]
		var got []phonebooth.AttemptKey
		mustAll(t, l.DoAll(t.Context(), []ledger.Verb{submit("t1", "", 9), place("t1", d, false), claim("h1", "c1", &got)}))
		space = false
		wantCode(t, "a submission", l.Do(t.Context(), submit("t2", "", 9)), "store_full")
		must(t, l.Do(t.Context(), report("t1", d, phonebooth.OutcomeDone)))
	})
}

func TestTheStoresTroubleIsAnswered(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		var trouble error
		g := &gate{Store: open(t, dsn), before: func() error { return trouble }}
		l := start(t, g, ledger.Options{})
		for _, c := range []struct {
			trouble error
			code    string
		}{
			{store.ErrUnavailable, "store_unavailable"},
			{store.ErrFull, "store_full"},
			{store.ErrOutcomeUnknown, "outcome_unknown"},
			{store.ErrConflict, "store_unavailable"},
			{context.DeadlineExceeded, "store_unavailable"},
		} {
			trouble = fmt.Errorf("inner words: %w", c.trouble)
			err := l.Do(t.Context(), submit("t1", "", 9))
			wantCode(t, c.trouble.Error(), err, c.code)
			if e, ok := errors.AsType[*phonebooth.Error](err); !ok || e.Kind != phonebooth.Unavailable || strings.Contains(e.Message, "inner") {
				t.Errorf("%v is answered by %#v", c.trouble, err)
			}
		}
		trouble = nil
		must(t, l.Do(t.Context(), submit("t1", "", 9)))
	})
}

func TestAStoppedLedgerAnswersWhatIsQueued(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		enter, leave := make(chan struct{}), make(chan struct{})
		st := open(t, dsn)
		g := &gate{Store: st, before: func() error { enter <- struct{}{}; <-leave; return nil }}
		l := ledger.New(g, ledger.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		running, queued, stopped := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { stopped <- l.Run(ctx) }()
		go func() { running <- l.Do(t.Context(), submit("t1", "", 9)) }()
		<-enter
		go func() { queued <- l.Do(t.Context(), submit("t2", "", 9)) }()
		eventually(t, "the second verb", func() bool { return ledger.Pending(l) == 1 })
		cancel()
		leave <- struct{}{}
		must(t, <-stopped)
		must(t, <-running)
		wantCode(t, "what was queued", <-queued, "store_unavailable")
		wantCode(t, "what comes later", l.Do(t.Context(), submit("t3", "", 9)), "store_unavailable")
		if tasks := allTasks(t, st); len(tasks) != 1 || tasks[0].ID != "t1" {
			t.Errorf("stored are %v, want the one whose batch was running", tasks)
		}
	})
}
