package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

// lose commits what verbs decide without telling the scheduler.
func (w *world) lose(verbs func()) {
	var tell func(lifecycle.Change)
	w.with(func() { tell, w.tell = w.tell, func(lifecycle.Change) {} })
	verbs()
	w.with(func() { w.tell = tell })
}

func TestARefusedPlacementIsCorrectedFromTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p1"))
		w.sight(host, phone("p1"), phone("p2"))
		s := startFIFO(t, w)
		idle(t, s)
		// The index takes p1, the first by id or time, for a candidate. The store knows better.
		w.lose(func() {
			for _, d := range w.rows.Devices {
				w.commit(lifecycle.Cordon(d, "test", w.now))
			}
		})
		id := w.submit("x", phonebooth.TaskSpec{})
		idle(t, s)
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{id: phonebooth.Queued})
		if calls, _ := w.counts(); calls > 2 {
			t.Errorf("%d plans were sent for two devices, want at most 2", calls)
		}
		w.commit(lifecycle.Uncordon(w.rows.Devices[phonebooth.DeviceIDOf(host, "p2")]))
		idle(t, s)
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{id: phonebooth.Assigned})
	})
}

func TestATaskRefusedForNoVisibleReasonHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p"))
		late := w.submit("late", phonebooth.TaskSpec{QueueTimeout: time.Second})
		next := w.submit("next", phonebooth.TaskSpec{})
		w.now = w.now.Add(time.Minute) // the queue timeout has passed, and the sweep has not seen it yet
		s := startFIFO(t, w)
		synctest.Wait()
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{late: phonebooth.Queued, next: phonebooth.Assigned})

		w.finish(next, phonebooth.OutcomeDone)
		synctest.Wait()
		before, _ := w.counts()
		time.Sleep(10 * time.Second)
		calls, _ := w.counts()
		if tries := calls - before; tries < 5 || tries > 11 {
			t.Errorf("it was tried %d times in 10 s, want about one a second", tries)
		}
		w.must(lifecycle.TimeOutInQueue(w.task(late), w.now))
		time.Sleep(2 * time.Second)
		before, _ = w.counts()
		time.Sleep(10 * time.Second)
		if calls, _ = w.counts(); calls != before || s.QueueDepth() != 0 {
			t.Errorf("%d more tries and %d queued after the task has ended, want none", calls-before, s.QueueDepth())
		}
	})
}

func TestWhileTheStoreIsAwayNothingIsHammeredAndNothingLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p1"), phone("p2"))
		s := startFIFO(t, w)
		away := func(lifecycle.Placement) error {
			return phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the store is away")
		}
		w.with(func() { w.verdict = away })
		w.submit("a", phonebooth.TaskSpec{})
		w.submit("b", phonebooth.TaskSpec{})
		synctest.Wait()
		w.with(func() { w.down = store.ErrUnavailable })
		time.Sleep(time.Minute + time.Millisecond)
		if calls, reads := w.counts(); calls > 2 || reads > 130 {
			t.Errorf("%d calls and %d reads while the store was away for a minute", calls, reads)
		}
		w.with(func() { w.down, w.verdict = nil, nil })
		idle(t, s)
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{"task_a": phonebooth.Assigned, "task_b": phonebooth.Assigned})
	})
}

func TestAPlacementWhoseOutcomeWasUnknownIsFoundInTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p"))
		s := startFIFO(t, w)
		idle(t, s)
		unheard := func(p lifecycle.Placement) error { // it is committed, and nobody hears of it
			w.verdict = nil
			tell := w.tell
			w.tell = func(lifecycle.Change) {}
			defer func() { w.tell = tell }()
			c, err := lifecycle.Place(p, w.rows.Hosts[p.HostID], w.rows.Devices[p.DeviceID], nil, w.rows.Tasks[p.TaskID], w.policy, w.now)
			if err != nil {
				return err
			}
			w.write(c)
			return phonebooth.Errorf(phonebooth.Unavailable, "outcome_unknown", "the connection broke")
		}
		w.with(func() { w.verdict = unheard })
		w.submit("a", phonebooth.TaskSpec{})
		w.submit("b", phonebooth.TaskSpec{})
		idle(t, s)
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{"task_a": phonebooth.Assigned, "task_b": phonebooth.Queued})
		if got := s.QueueDepth(); got != 1 {
			t.Errorf("the queue holds %d tasks, want 1", got)
		}
		time.Sleep(5 * time.Minute) // several comparisons, none of which finds anything
	})
}

func TestTheComparisonFindsAndRepairsWhatTheIndexMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p"))
		var found []int
		s := start(t, w, fifomatch.New(), Options{OnDifference: func(n int) { found = append(found, n) }})
		idle(t, s)
		time.Sleep(90 * time.Second)
		if found != nil {
			t.Fatalf("differences %v without a cause", found)
		}
		w.lose(func() { w.submit("x", phonebooth.TaskSpec{}) })
		time.Sleep(time.Minute)
		idle(t, s)
		if diff := cmp.Diff([]int{1}, found); diff != "" {
			t.Errorf("differences found (-want +got):\n%s", diff)
		}
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{"task_x": phonebooth.Assigned})
	})
}

func TestAMissingCommitIsNoticedByTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p1"), phone("p2"))
		s := startFIFO(t, w)
		idle(t, s)
		w.lose(func() { w.submit("x", phonebooth.TaskSpec{}) })
		w.submit("y", phonebooth.TaskSpec{})
		synctest.Wait() // no time passes
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{"task_x": phonebooth.Assigned, "task_y": phonebooth.Assigned})
	})
}

// anyAssigned is a task that a host could claim, "" when there is none.
func (w *world) anyAssigned() phonebooth.TaskID {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, t := range w.rows.Tasks {
		if t.Status == phonebooth.Assigned {
			return id
		}
	}
	return ""
}

func TestNoComparisonFindsAnythingWhileTasksComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p1"), phone("p2"))
		s := start(t, w, fifomatch.New(), Options{CompareEvery: 3 * time.Second})
		for i := range 200 {
			w.submit(numbered("t", i), phonebooth.TaskSpec{})
			time.Sleep(100 * time.Millisecond)
			idle(t, s)
			if id := w.anyAssigned(); id != "" {
				w.finish(id, []phonebooth.Outcome{phonebooth.OutcomeDone, phonebooth.OutcomeAbandoned}[i%2])
			}
			w.poll(host)
			w.sight(host, phone("p1", numbered("tag", i%3)), phone("p2"))
		}
	})
}

func TestRunWaitsForAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.down = store.ErrUnavailable
		s := startFIFO(t, w)
		host := w.host("a")
		w.sight(host, phone("p"))
		id := w.submit("x", phonebooth.TaskSpec{})
		time.Sleep(10 * time.Second)
		w.with(func() { w.down = nil })
		idle(t, s)
		wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{id: phonebooth.Assigned})
	})
}

// A scheduler that starts while a later attempt runs has not seen where the earlier ones ended.
func TestAfterARestartFailedDevicesAreStillTriedLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		host := w.host("a")
		var seen []lifecycle.Sighting
		for _, key := range []string{"p1", "p2", "p3"} {
			w.now = w.now.Add(time.Second)
			seen = append(seen, phone(key))
			w.sight(host, seen...)
		}
		id := w.submit("x", phonebooth.TaskSpec{})
		for _, key := range []string{"p1", "p2"} {
			if err := w.Place(t.Context(), []lifecycle.Placement{{TaskID: id, DeviceID: phonebooth.DeviceIDOf(host, key), HostID: host}})[0]; err != nil {
				t.Fatal(err)
			}
			if key == "p1" {
				w.finish(id, phonebooth.OutcomeAbandoned)
			}
		}
		s := startFIFO(t, w)
		idle(t, s)
		w.finish(id, phonebooth.OutcomeAbandoned)
		idle(t, s)
		if got, want := w.task(id).DeviceID, phonebooth.DeviceIDOf(host, "p3"); got != want {
			t.Errorf("the third attempt is on %s, want %s", got, want)
		}
	})
}

func TestRunEndsWithNothingLeftRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
		w := newWorld()
		host := w.host("a")
		w.sight(host, phone("p"))
		w.submit("x", phonebooth.TaskSpec{})
		ctx, cancel := context.WithCancel(t.Context())
		s := New(w, func(ctx context.Context, p []lifecycle.Placement) []error {
			<-ctx.Done()
			return []error{ctx.Err()}
		}, fifomatch.New(), "test", Options{})
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := s.Idle(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Idle while a placement is not answered: %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want %v", err, context.Canceled)
		}
	})
}
