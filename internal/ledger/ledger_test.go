package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func TestC16_TheQueueLimitIsExactUnderConcurrentSubmitters(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const submitters, depth = 100, 10
		st := open(t, dsn)
		l := start(t, st, ledger.Options{MaxBatch: 16})
		errs := make([]error, submitters)
		var work sync.WaitGroup
		for i := range submitters {
			work.Go(func() { errs[i] = l.Do(t.Context(), submit(phonebooth.TaskID(fmt.Sprintf("t%d", i)), "", depth)) })
		}
		work.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
				continue
			}
			wantCode(t, "a submission too many", err, "queue_full")
		}
		if stored := len(allTasks(t, st)); accepted != depth || stored != depth {
			t.Errorf("%d were accepted and %d stored, want %d", accepted, stored, depth)
		}
	})
}

func TestALoneVerbIsCommittedAtOnceAndWhatArrivesMeanwhileIsTheNextBatch(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		enter, leave := make(chan struct{}), make(chan struct{})
		g := &gate{Store: open(t, dsn), before: func() error {
			enter <- struct{}{}
			<-leave
			return nil
		}}
		var mu sync.Mutex
		var sizes []int
		l := start(t, g, ledger.Options{MaxBatch: 4, ObserveBatch: func(n int, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, n)
			if took <= 0 {
				t.Errorf("a batch took %v", took)
			}
		}})
		var work sync.WaitGroup
		send := func(ids ...phonebooth.TaskID) {
			var verbs []ledger.Verb
			for _, id := range ids {
				verbs = append(verbs, submit(id, "", 100))
			}
			work.Go(func() {
				for i, err := range l.DoAll(t.Context(), verbs) {
					if err != nil {
						t.Errorf("%s: %v", ids[i], err)
					}
				}
			})
		}
		send("t0")
		<-enter // alone, at once
		send("t1", "t2", "t3", "t4", "t5", "t6")
		eventually(t, "the queue to fill", func() bool { return ledger.Pending(l) == 6 })
		leave <- struct{}{}
		for range 2 {
			<-enter
			leave <- struct{}{}
		}
		work.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []int{1, 4, 2}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
		tasks := allTasks(t, g)
		slices.Reverse(tasks)
		for i, task := range tasks {
			if want := phonebooth.TaskID(fmt.Sprintf("t%d", i)); task.ID != want || task.Seq != int64(i+1) {
				t.Errorf("at place %d is %s with seq %d, want %s in the order of arrival", i, task.ID, task.Seq, want)
			}
		}
	})
}

func TestACallerThatGoesAwayIsAnsweredAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		enter, leave := make(chan struct{}), make(chan struct{})
		g := &gate{Store: open(t, dsn), before: func() error {
			enter <- struct{}{}
			<-leave
			return nil
		}}
		l := start(t, g, ledger.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		running, queued := make(chan error, 1), make(chan error, 1)
		go func() { running <- l.Do(ctx, submit("running", "", 9)) }()
		<-enter
		go func() { queued <- l.Do(ctx, submit("queued", "", 9)) }()
		eventually(t, "the second verb", func() bool { return ledger.Pending(l) == 1 })
		cancel()
		for _, answer := range []error{<-running, <-queued} {
			if !errors.Is(answer, context.Canceled) {
				t.Errorf("got %v, want the context's error", answer)
			}
		}
		leave <- struct{}{}
		go func() {
			<-enter
			leave <- struct{}{}
		}()
		must(t, l.Do(t.Context(), submit("later", "", 9)))
		if tasks := allTasks(t, g); len(tasks) != 2 || tasks[1].ID != "running" {
			t.Errorf("stored are %v, want what was being committed, and not what nobody waited for any more", tasks)
		}
	})
}

func TestVerbsOfABatchSeeWhatTheOnesBeforeThemDecided(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		d := addHost(t, l, "h1", 1)[0]
		var first, again []phonebooth.AttemptKey
		errs := l.DoAll(t.Context(), []ledger.Verb{
			submit("t1", "key", 2),
			submit("t2", "key", 2), // the same request
			submit("t3", "", 2),
			submit("t4", "", 2), // one too many
			place("t1", d, false),
			place("t3", d, false), // too late
			submit("t5", "", 2),   // t1 has left the queue
			claim("h1", "c1", &first),
			claim("h1", "c1", &again), // the same claim
			report("t1", d, phonebooth.OutcomeDone),
			place("t3", d, false), // the device is free again
			cancelTask("t5"),
		})
		for i, code := range []string{3: "queue_full", 5: "device_unavailable", 11: ""} {
			wantCode(t, fmt.Sprintf("verb %d", i), errs[i], code)
		}
		want := []phonebooth.AttemptKey{{TaskID: "t1", Number: 1}}
		if !slices.Equal(first, want) || !slices.Equal(again, want) {
			t.Errorf("the claim got %v and its repeat %v, want %v", first, again, want)
		}
		got := map[phonebooth.TaskID]phonebooth.Status{}
		for _, task := range allTasks(t, st) {
			got[task.ID] = task.Status
		}
		if diff := cmp.Diff(map[phonebooth.TaskID]phonebooth.Status{
			"t1": phonebooth.Done, "t3": phonebooth.Assigned, "t5": phonebooth.Cancelled,
		}, got); diff != "" {
			t.Errorf("tasks (-want +got):\n%s", diff)
		}
	})
}

func TestSubscribersHearOfEveryCommitInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := ledger.New(st, ledger.Options{MaxBatch: 3})
		var commits []ledger.Commit // written by the ledger before it answers
		l.Subscribe(func(c ledger.Commit) { commits = append(commits, c) })
		run(t, l)
		mustAll(t, l.DoAll(t.Context(), []ledger.Verb{submit("t1", "", 9), submit("t2", "", 9), cancelTask("t1"), cancelTask("t1")}))
		must(t, l.Do(t.Context(), cancelTask("t1"))) // changes nothing
		if err := l.Do(t.Context(), cancelTask("none")); err == nil {
			t.Error("an unknown task was cancelled")
		}
		var told []phonebooth.Event
		for _, c := range commits {
			told = append(told, c.Events...)
		}
		stored, err := st.Events(t.Context(), store.EventFilter{})
		must(t, err)
		if diff := cmp.Diff(stored, told); diff != "" {
			t.Errorf("subscribers were told (-stored +told):\n%s", diff)
		}
		if e := stored[0]; e.Actor != "admin" || e.RequestID != "req-t1" || e.Pos != 1 {
			t.Errorf("the first event is %+v", e)
		}
		if len(commits) != 1 || len(commits[0].Tasks) != 2 || commits[0].Tasks[0].Rev != 2 {
			t.Errorf("commits %+v, want one in which the last state of t1 stands once", commits)
		}
		if len(commits) == 1 {
			if diff := cmp.Diff(taskOf(t, st, "t1"), commits[0].Tasks[0]); diff != "" {
				t.Errorf("t1 (-stored +told):\n%s", diff)
			}
		}
	})
}

func TestWritesWithoutEventsLeaveTheHeadAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		l := start(t, st, ledger.Options{})
		addHost(t, l, "h1", 0)
		before, err := st.Head(t.Context())
		must(t, err)
		must(t, l.Do(t.Context(), ledger.Verb{
			Name: "poll", Keys: keys(store.Keys{Hosts: []phonebooth.HostID{"h1"}}),
			Decide: func(v ledger.View) (lifecycle.Change, error) { return lifecycle.Poll(v.Hosts["h1"], 0, v.Now) },
		}))
		after, err := st.Head(t.Context())
		must(t, err)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("head (-before +after):\n%s", diff)
		}
		if h, err := st.Host(t.Context(), "h1"); err != nil || h.PolledAt.IsZero() {
			t.Errorf("the host was not written: %v, %v", h.PolledAt, err)
		}
	})
}

// Verbs that write much go one by one, and what is light does not wait behind them.
func TestHeavyVerbsGoOneByOneAndAreOvertaken(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		enter, leave := make(chan struct{}), make(chan struct{})
		g := &gate{Store: open(t, dsn), before: func() error {
			enter <- struct{}{}
			<-leave
			return nil
		}}
		var mu sync.Mutex
		var commits [][]phonebooth.TaskID
		l := ledger.New(g, ledger.Options{})
		l.Subscribe(func(c ledger.Commit) {
			mu.Lock()
			defer mu.Unlock()
			var ids []phonebooth.TaskID
			for _, task := range c.Tasks {
				ids = append(ids, task.ID)
			}
			commits = append(commits, ids)
		})
		run(t, l)
		var work sync.WaitGroup
		send := func(id phonebooth.TaskID, heavy bool) {
			v := submit(id, "", 100)
			v.Heavy = heavy
			before := ledger.Pending(l)
			work.Go(func() {
				if err := l.Do(t.Context(), v); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			})
			if id != "first" {
				eventually(t, string(id)+" to wait", func() bool { return ledger.Pending(l) == before+1 })
			}
		}
		send("first", false)
		<-enter
		for _, id := range []phonebooth.TaskID{"h1", "h2", "h3"} {
			send(id, true)
		}
		send("l1", false)
		send("l2", false)
		leave <- struct{}{}
		for range 3 {
			<-enter
			leave <- struct{}{}
		}
		work.Wait()
		want := [][]phonebooth.TaskID{{"first"}, {"l1", "l2", "h1"}, {"h2"}, {"h3"}}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, commits); diff != "" {
			t.Errorf("transactions (-want +got):\n%s", diff)
		}
	})
}
