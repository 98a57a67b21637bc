package scheduler

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

const (
	manyLanes   = 50
	manyDevices = 10_000
)

// crowd is an index with many tasks in 50 lanes, over 10,000 devices that are all reserved.
type crowd struct {
	index *index
	next  int // number of the next task
	pos   int64
}

func newCrowd(tasks int) *crowd {
	c := &crowd{index: newIndex(fifomatch.New().Rank)}
	s := store.Snapshot{Hosts: []phonebooth.Host{{ID: "host_a", Rev: 1}}}
	for i := range manyDevices {
		id := phonebooth.DeviceID("device_" + strconv.Itoa(i))
		s.Devices = append(s.Devices, phonebooth.Device{
			ID: id, HostID: "host_a", DriverType: "android", Condition: phonebooth.Ready, Rev: 1,
			Tags:         []string{numbered("tag", i%manyLanes), numbered("tag", (i+1)%manyLanes)},
			RegisteredAt: time.Unix(int64(i), 0),
		})
		s.Reservations = append(s.Reservations, phonebooth.Reservation{DeviceID: id, Attempt: phonebooth.AttemptKey{TaskID: "task_before"}})
	}
	c.index.load(s)
	for range tasks {
		c.index.putTask(c.newTask())
	}
	return c
}

func (c *crowd) newTask() phonebooth.Task {
	c.next++
	return phonebooth.Task{
		ID: phonebooth.TaskID("task_0000000000000000" + strconv.Itoa(1_000_000_000+c.next)), Seq: int64(c.next), Rev: 1, Status: phonebooth.Queued,
		CreatedAt: time.Unix(int64(c.next), 0),
		TaskSpec:  phonebooth.TaskSpec{Constraints: phonebooth.Constraints{DriverType: "android", Tags: []string{numbered("tag", c.next%manyLanes)}}},
	}
}

func (c *crowd) commit(change lifecycle.Change) {
	c.pos++
	change.Events = []phonebooth.Event{{Pos: c.pos}}
	c.index.apply(change)
}

// turn frees one device, plans, and applies the one placement that comes of it. A new task takes the place of the placed
// one, so that the queue stays as long as it is.
func (c *crowd) turn(s strategy.Strategy, i int) error {
	c.commit(lifecycle.Change{
		Release: []phonebooth.DeviceID{phonebooth.DeviceID("device_" + strconv.Itoa(i*7919%manyDevices))},
		Tasks:   []phonebooth.Task{c.newTask()},
	})
	plan := s.Plan(c.index.view())
	if len(plan) != 1 {
		return fmt.Errorf("%d placements were planned, want 1", len(plan))
	}
	p, ok := c.index.begin(plan[0])
	if !ok {
		return fmt.Errorf("%v cannot be begun", plan[0])
	}
	c.commit(lifecycle.Change{
		Tasks:   []phonebooth.Task{{ID: p.TaskID, Rev: p.rev + 1, Status: phonebooth.Assigned}},
		Reserve: []phonebooth.Reservation{{DeviceID: p.DeviceID, Attempt: phonebooth.AttemptKey{TaskID: p.TaskID, Number: 1}}},
	})
	c.index.setDeviceBusy(p.device, false)
	c.index.setBusy(p.task, false)
	return nil
}

// looking is a strategy that counts what it looks at.
type looking struct {
	strategy.Strategy
	looks *int
}

func (l looking) Plan(v strategy.View) []strategy.Placement {
	left := math.MaxInt
	for i := range v.Lanes {
		v.Lanes[i] = limited{v.Lanes[i], &left}
	}
	plan := l.Strategy.Plan(v)
	*l.looks += math.MaxInt - left
	return plan
}

// C18 by count: a pass looks at as many tasks, devices and lanes in a queue of 1,000,000 as in one of 1,000.
func TestC18_APassLooksAtTheSameInAQueueOfAnyLength(t *testing.T) {
	t.Parallel()
	looks := map[int]int{}
	for _, n := range []int{1_000, longQueue} {
		c, count := newCrowd(n), 0
		for i := range 100 {
			if err := c.turn(looking{fifomatch.New(), &count}, i); err != nil {
				t.Fatal(err)
			}
		}
		looks[n] = count
	}
	if looks[1_000] != looks[longQueue] {
		t.Errorf("100 passes looked at %d tasks and devices in a queue of 1,000, and at %d in one of %d", looks[1_000], looks[longQueue], longQueue)
	}
}

// Not parallel: what other tests allocate would be counted.
func TestAQueuedTaskCostsLessThan300Bytes(t *testing.T) {
	const n = longQueue / 5
	c := newCrowd(0)
	before := heap()
	for range n {
		c.index.putTask(c.newTask())
	}
	each := (heap() - before) / n
	runtime.KeepAlive(c)
	t.Logf("%d bytes a queued task", each)
	if each >= 300 {
		t.Errorf("a queued task costs %d bytes, want less than 300", each)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// processorTime is what this process has used of the processors; unlike the time of day it does not count the neighbours'.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// One device becomes free, one placement is planned and applied, a new task joins the queue.
func BenchmarkPlacement(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprintf("queued=%d", n), func(b *testing.B) {
			c, s := newCrowd(n), fifomatch.New()
			runtime.GC() // what building it left behind is not the cost of a placement
			b.ReportAllocs()
			i, spent := 0, processorTime(b)
			for b.Loop() {
				if err := c.turn(s, i); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(processorTime(b)-spent)/float64(b.N), "cpu-ns/op")
		})
	}
}
