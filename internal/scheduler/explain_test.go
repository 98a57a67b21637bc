package scheduler

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

func TestExplainWaitsUntilTheQueueWasRead(t *testing.T) {
	t.Parallel()
	s := New(newWorld(), nil, fifomatch.New(), "test", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Explain(ctx, phonebooth.Task{}); phonebooth.CodeOf(err) != "store_unavailable" {
		t.Errorf("got %v before the queue was read, want store_unavailable", err)
	}
}

func TestExplainBesideTheScheduler(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p1"), phone("p2", "lab"))
	s := startFIFO(t, w)
	var asking sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Explain(t.Context(), phonebooth.Task{TaskSpec: spec(phonebooth.Constraints{Tags: []string{"lab"}})}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 20 {
		id := w.submit(strconv.Itoa(i), spec(phonebooth.Constraints{}))
		idle(t, s)
		w.finish(id, phonebooth.OutcomeDone)
	}
	close(stop)
	asking.Wait()
}

// Counting stops in a long queue, and says so.
func TestExplainStopsCountingInALongQueue(t *testing.T) {
	t.Parallel()
	s := crowded(20_000)
	w, err := s.Explain(t.Context(), phonebooth.Task{TaskSpec: spec(phonebooth.Constraints{DriverType: "android"})})
	if err != nil {
		t.Fatal(err)
	}
	if a := w.Ahead; a.Count < maxCounted || !a.AtLeast || len(a.First) != maxListed || a.First[0].ID != string((&crowd{}).newTask().ID) {
		t.Errorf("ahead %+v, want at least %d and the oldest first", a, maxCounted)
	}
}

// crowded is a scheduler that has many tasks in its index.
func crowded(tasks int) *Scheduler {
	s := New(nil, nil, fifomatch.New(), "test", Options{})
	s.index = newCrowd(tasks).index
	close(s.loaded)
	return s
}

// One explanation over 10,000 devices; locked-ns is how long the index was locked for it, half of the times.
func BenchmarkExplain(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		s := crowded(n)
		tasks := map[string]phonebooth.Task{
			"one lane": {TaskSpec: spec(phonebooth.Constraints{DriverType: "android", Tags: []string{"tag7"}})}, "any": {},
		}
		for _, about := range []string{"one lane", "any"} {
			b.Run(fmt.Sprintf("%s/queued=%d", about, n), func(b *testing.B) {
				runtime.GC()
				var locked []time.Duration
				spent := time.Duration(0)
				for b.Loop() {
					before := processorTime(b)
					if _, err := s.Explain(b.Context(), tasks[about]); err != nil {
						b.Fatal(err)
					}
					spent += processorTime(b) - before
					began := time.Now()
					s.moment(tasks[about])
					locked = append(locked, time.Since(began))
				}
				slices.Sort(locked)
				b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(locked[len(locked)/2]), "locked-ns")
			})
		}
	}
}
