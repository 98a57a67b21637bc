package scheduler

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
	"github.com/phonebooth-dev/phonebooth/strategy/priority"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

// fixed is a scheduler that knows a snapshot and never runs.
func fixed(s strategy.Strategy, snapshot store.Snapshot) *Scheduler {
	sched := New(nil, nil, s, "test", Options{})
	sched.index.load(snapshot)
	close(sched.loaded)
	return sched
}

// situation is a pool and a queue drawn at random, some of it in flight, and a task to explain.
type situation struct {
	store.Snapshot
	strategy strategy.Strategy
	sched    *Scheduler
	flying   map[phonebooth.TaskID]phonebooth.DeviceID
	task     phonebooth.Task // one of the queue, or not submitted
}

var when = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func drawSituation(t *rapid.T) *situation {
	s := &situation{strategy: fifomatch.New(), flying: map[phonebooth.TaskID]phonebooth.DeviceID{}}
	s.Failed = map[phonebooth.TaskID][]phonebooth.DeviceID{}
	if rapid.Bool().Draw(t, "by priority") {
		s.strategy = priority.New()
	}
	sometimes := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.IntRange(0, 5).Draw(t, "n") == 0 {
			return when
		}
		return time.Time{}
	})
	for i := range rapid.IntRange(1, 3).Draw(t, "hosts") {
		s.Hosts = append(s.Hosts, phonebooth.Host{
			ID: phonebooth.HostID(numbered("host_", i)), Name: numbered("h", i), Rev: 1, RemovedAt: sometimes.Draw(t, "removed"),
			DrainingSince: sometimes.Draw(t, "draining"), SilentSince: sometimes.Draw(t, "silent"), DeafSince: sometimes.Draw(t, "deaf"),
		})
	}
	words := func(name string) []string {
		return phonebooth.Constraints{Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, name)}.Normalized().Tags
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "devices") {
		d := phonebooth.Device{
			ID: phonebooth.DeviceID(numbered("device_", i)), HostID: rapid.SampledFrom(s.Hosts).Draw(t, "host").ID, Name: numbered("p", i),
			DriverType: rapid.SampledFrom([]string{"android", "ios"}).Draw(t, "driver"), Tags: words("tags"), Runners: words("runners"), Rev: 1,
			Condition:    rapid.SampledFrom([]phonebooth.Condition{"ready", "ready", "ready", "offline", "cleaning"}).Draw(t, "condition"),
			Hold:         rapid.SampledFrom([]phonebooth.Hold{"none", "none", "none", "cordoned", "quarantined"}).Draw(t, "hold"),
			RegisteredAt: when.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "registered")) * time.Hour),
		}
		s.Devices = append(s.Devices, d)
		if rapid.IntRange(0, 3).Draw(t, "reserved") == 0 {
			s.Reservations = append(s.Reservations, phonebooth.Reservation{DeviceID: d.ID, Attempt: phonebooth.AttemptKey{TaskID: "task_else", Number: 1}})
		}
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "tasks") {
		s.Tasks = append(s.Tasks, s.drawTask(t, i))
	}
	s.sched = fixed(s.strategy, s.Snapshot)
	for _, p := range s.strategy.Plan(s.sched.index.view()) {
		if rapid.IntRange(0, 2).Draw(t, "in flight") > 0 {
			continue
		}
		if _, ok := s.sched.index.begin(p); !ok {
			t.Fatalf("%v cannot be begun", p)
		}
		s.flying[p.TaskID] = p.DeviceID
	}
	s.task = s.drawTask(t, 99)
	s.task.ID, s.task.Seq, s.task.Attempt = "", 0, 0
	if len(s.Tasks) > 0 && rapid.IntRange(0, 3).Draw(t, "submitted") > 0 {
		s.task = rapid.SampledFrom(s.Tasks).Draw(t, "task")
	}
	return s
}

func (s *situation) drawTask(t *rapid.T, i int) phonebooth.Task {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	task := phonebooth.Task{
		ID: phonebooth.TaskID(numbered("task_", i)), Seq: int64(i + 1), Rev: 1, Status: phonebooth.Queued,
		CreatedAt: when.Add(time.Duration(i) * time.Minute),
		TaskSpec: phonebooth.TaskSpec{Priority: rapid.IntRange(-2, 2).Draw(t, "priority"), Constraints: phonebooth.Constraints{
			DriverType: pick("asked driver", "", "", "android", "ios", "web"), Runner: pick("asked runner", "", "", "", "a", "z"),
			HostID: phonebooth.HostID(pick("asked host", "", "", "", "", "host_0", "host_9")),
			Tags:   rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 2).Draw(t, "asked tags"),
		}.Normalized()},
	}
	if len(s.Devices) > 0 && rapid.IntRange(0, 6).Draw(t, "pinned") == 0 {
		task.Constraints.DeviceID = rapid.SampledFrom(s.Devices).Draw(t, "asked device").ID
	}
	if len(s.Devices) > 0 && rapid.IntRange(0, 3).Draw(t, "tried") == 0 {
		task.Attempt = 1
		s.Failed[task.ID] = []phonebooth.DeviceID{rapid.SampledFrom(s.Devices).Draw(t, "tried on").ID}
	}
	return task
}

// pool is the known devices and what each does, found out the long way.
func (s *situation) pool() (devices []phonebooth.Device, states map[phonebooth.DeviceID]string) {
	states = map[phonebooth.DeviceID]string{}
	for _, d := range s.Devices {
		h := s.Hosts[slices.IndexFunc(s.Hosts, func(h phonebooth.Host) bool { return h.ID == d.HostID })]
		if !h.RemovedAt.IsZero() {
			continue
		}
		devices = append(devices, d)
		var held *phonebooth.Reservation
		for _, r := range s.Reservations {
			if r.DeviceID == d.ID {
				held = &r
			}
		}
		states[d.ID] = cmp.Or(string(d.Available(h, held)), v1.CandidateFree)
	}
	for _, id := range s.flying {
		states[id] = v1.CandidatePlanned
	}
	return devices, states
}

// queue is the tasks that may be planned, with the one to explain.
func (s *situation) queue() (tasks []strategy.Task) {
	for _, t := range append(slices.Clone(s.Tasks), s.task) {
		if _, flies := s.flying[t.ID]; flies && t.ID != s.task.ID || slices.ContainsFunc(tasks, func(o strategy.Task) bool { return o.ID == t.ID }) {
			continue
		}
		facts := strategy.TaskFacts{
			ID: t.ID, Seq: cmp.Or(t.Seq, math.MaxInt64), Priority: t.Priority, CreatedAt: t.CreatedAt, Constraints: t.Constraints, Attempt: t.Attempt,
		}
		tasks = append(tasks, strategy.Task{TaskFacts: facts, Rank: s.strategy.Rank(facts), Failed: s.Failed[t.ID]})
	}
	return tasks
}

// What an explanation says is what the scheduler would do.
func TestExplainSaysWhatTheSchedulerWouldDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		got, err := s.sched.Explain(t.Context(), s.task)
		if err != nil {
			t.Fatal(err)
		}
		s.checkClauses(t, got)
		s.checkCandidates(t, got)
		s.checkNext(t, got)
		s.checkAhead(t, got)
	})
}

// checkClauses compares what each clause leaves with what is left of the pool under all clauses up to it.
func (s *situation) checkClauses(t *rapid.T, got v1.Wait) {
	devices, _ := s.pool()
	count := func(c phonebooth.Constraints) (n int) {
		for _, d := range devices {
			if c.Match(d) == phonebooth.Matches {
				n++
			}
		}
		return n
	}
	var upTo phonebooth.Constraints
	left := count(upTo)
	if got.Known != left {
		t.Errorf("%d known devices, want %d", got.Known, left)
	}
	for _, cl := range got.Clauses {
		var alone phonebooth.Constraints
		switch phonebooth.Mismatch(cl.Clause) {
		case phonebooth.MismatchDriverType:
			upTo.DriverType, alone.DriverType = cl.Value, cl.Value
		case phonebooth.MismatchDeviceID:
			upTo.DeviceID, alone.DeviceID = phonebooth.DeviceID(cl.Value), phonebooth.DeviceID(cl.Value)
		case phonebooth.MismatchHostID:
			upTo.HostID, alone.HostID = phonebooth.HostID(cl.Value), phonebooth.HostID(cl.Value)
		case phonebooth.MismatchRunner:
			upTo.Runner, alone.Runner = cl.Value, cl.Value
		case phonebooth.MismatchTags:
			upTo.Tags, alone.Tags = append(upTo.Tags, cl.Value), []string{cl.Value}
		}
		want := count(upTo)
		if cl.Left != want || cl.Lost != left-want || cl.Meeting != count(alone) || len(cl.Losses) != min(cl.Lost, maxListed) {
			t.Errorf("clause %+v, want %d left of %d, and %d that meet it alone", cl, want, left, count(alone))
		}
		left = want
	}
	if upTo.Key() != s.task.Constraints.Key() {
		t.Errorf("the clauses make %+v, want %+v", upTo, s.task.Constraints)
	}
}

func (s *situation) checkCandidates(t *rapid.T, got v1.Wait) {
	want, all := map[string]int{}, 0
	devices, states := s.pool()
	for _, d := range devices {
		if s.task.Constraints.Match(d) == phonebooth.Matches {
			want[states[d.ID]]++
			all++
		}
	}
	counts := map[string]int{}
	for _, st := range got.States {
		counts[st.State] += st.Count
	}
	if diff := gocmp.Diff(want, counts); diff != "" || got.Candidates != all {
		t.Errorf("%d candidates, want %d; states (-want +got):\n%s", got.Candidates, all, diff)
	}
}

// checkNext compares with the strategy's plan, on a view made another way.
func (s *situation) checkNext(t *rapid.T, got v1.Wait) {
	if _, flies := s.flying[s.task.ID]; flies {
		if !got.Planned || got.Next != nil {
			t.Errorf("planned %v and next %v, want in flight", got.Planned, got.Next)
		}
		return
	}
	devices, states := s.pool()
	idle := slices.DeleteFunc(devices, func(d phonebooth.Device) bool { return states[d.ID] != v1.CandidateFree })
	want, next := "", ""
	for _, p := range s.strategy.Plan(strategytest.NewView(s.strategy, s.queue(), idle)) {
		if p.TaskID == s.task.ID {
			want = string(p.DeviceID)
		}
	}
	if got.Next != nil {
		next = got.Next.ID
	}
	if next != want || got.Undecided || got.Planned {
		t.Errorf("next is %q (undecided %v, planned %v), the plan says %q", next, got.Undecided, got.Planned, want)
	}
}

// checkAhead lets every candidate take as many tasks as there are: those that are placed before the task are ahead of it.
func (s *situation) checkAhead(t *rapid.T, got v1.Wait) {
	tasks := s.queue()
	slices.SortFunc(tasks, strategy.Task.Compare)
	devices, _ := s.pool()
	lanes := map[string]*abundant{}
	var view strategy.View
	for _, task := range tasks {
		l := lanes[task.Constraints.Key()]
		if l == nil {
			l = &abundant{}
			for _, d := range devices {
				for i := range tasks {
					if clone := d; task.Constraints.Match(d) == phonebooth.Matches && s.task.Constraints.Match(d) == phonebooth.Matches {
						clone.ID = phonebooth.DeviceID(fmt.Sprint(d.ID, "#", i))
						l.devices = append(l.devices, clone)
					}
				}
			}
			lanes[task.Constraints.Key()] = l
			if len(l.devices) > 0 {
				view.Lanes = append(view.Lanes, l)
			}
		}
		l.tasks = append(l.tasks, task)
	}
	ahead := []string{}
	for _, p := range s.strategy.Plan(view) {
		if p.TaskID == s.task.ID {
			break
		}
		ahead = append(ahead, string(p.TaskID))
	}
	first := []string{}
	for _, f := range got.Ahead.First {
		first = append(first, f.ID)
	}
	if want := ahead[:min(len(ahead), maxListed)]; got.Ahead.Count != len(ahead) || got.Ahead.AtLeast || !slices.Equal(first, want) {
		t.Errorf("ahead %+v, want %v", got.Ahead, ahead)
	}
}

// abundant is a lane whose devices are as many as the tasks.
type abundant struct {
	tasks   []strategy.Task
	devices []phonebooth.Device
}

func (l *abundant) Constraints() phonebooth.Constraints  { return l.tasks[0].Constraints }
func (l *abundant) Tasks() iter.Seq[strategy.Task]       { return slices.Values(l.tasks) }
func (l *abundant) Devices() iter.Seq[phonebooth.Device] { return slices.Values(l.devices) }

func (l *abundant) TasksAfter(id phonebooth.TaskID) iter.Seq[strategy.Task] {
	return slices.Values(l.tasks[1+slices.IndexFunc(l.tasks, func(t strategy.Task) bool { return t.ID == id }):])
}

func (l *abundant) DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	return slices.Values(l.devices[1+slices.IndexFunc(l.devices, func(d phonebooth.Device) bool { return d.ID == id }):])
}
