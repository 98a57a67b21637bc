package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

func spec(c phonebooth.Constraints) phonebooth.TaskSpec { return phonebooth.TaskSpec{Constraints: c} }

func TestS2_1_ATaskGetsADeviceThatMatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		about string
		asks  phonebooth.Constraints
		want  string // key of the device
	}{
		{"nothing asked: the first device", phonebooth.Constraints{}, "p1"},
		{"driver type", phonebooth.Constraints{DriverType: "ios"}, "i1"},
		{"a tag", phonebooth.Constraints{Tags: []string{"lab"}}, "p2"},
		{"all tags", phonebooth.Constraints{Tags: []string{"tablet", "lab"}}, "p3"},
		{"driver type and tags", phonebooth.Constraints{DriverType: "ios", Tags: []string{"lab"}}, "i2"},
		{"a driver type that no device has", phonebooth.Constraints{DriverType: "webdriver"}, ""},
		{"tags that no device has together", phonebooth.Constraints{DriverType: "ios", Tags: []string{"lab", "tablet"}}, ""},
	} {
		t.Run(tc.about, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			host := w.host("a")
			for _, p := range []lifecycle.Sighting{phone("p1"), phone("p2", "lab"), phone("p3", "lab", "tablet"), phone("i1"), phone("i2", "lab")} {
				if strings.HasPrefix(p.Key, "i") {
					p.DriverType = "ios"
				}
				w.now = w.now.Add(time.Second) // registered in this order
				var seen []lifecycle.Sighting
				for _, d := range w.rows.Devices {
					seen = append(seen, lifecycle.Sighting{Key: d.Key, Name: d.Name, DriverType: d.DriverType, Tags: d.Tags, Runners: d.Runners, Condition: d.Condition})
				}
				w.sight(host, append(seen, p)...)
			}
			s := startFIFO(t, w)
			id := w.submit("x", spec(tc.asks))
			idle(t, s)
			got := w.task(id)
			if tc.want == "" {
				if got.Status != phonebooth.Queued {
					t.Fatalf("the task is %s, want queued", got.Status)
				}
				return
			}
			if want := phonebooth.DeviceIDOf(host, tc.want); got.Status != phonebooth.Assigned || got.DeviceID != want || got.HostID != host {
				t.Errorf("got %s on %s of %s, want assigned on %s of %s", got.Status, got.DeviceID, got.HostID, want, host)
			}
		})
	}
}

func TestS2_2_WithoutAnIdleDeviceATaskWaitsForOne(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	s := startFIFO(t, w)
	first := w.submit("first", spec(phonebooth.Constraints{DriverType: "android"}))
	second := w.submit("second", spec(phonebooth.Constraints{DriverType: "android"}))
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{first: phonebooth.Queued, second: phonebooth.Queued})

	w.sight(host, phone("p"))
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{first: phonebooth.Assigned, second: phonebooth.Queued})

	w.finish(first, phonebooth.OutcomeDone)
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{first: phonebooth.Done, second: phonebooth.Assigned})
	if _, reads := w.counts(); reads != 0 {
		t.Errorf("%d tasks were read again though every placement was made", reads)
	}
}

func TestS3_1_TheOldestTaskGetsTheFirstRegisteredDevice(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	old := w.submit("old", phonebooth.TaskSpec{})
	young := w.submit("young", phonebooth.TaskSpec{})
	w.sight(host, phone("z"))
	w.now = w.now.Add(time.Second)
	w.sight(host, phone("z"), phone("a"))
	s := startFIFO(t, w)
	idle(t, s)
	for id, key := range map[phonebooth.TaskID]string{old: "z", young: "a"} {
		if got, want := w.task(id).DeviceID, phonebooth.DeviceIDOf(host, key); got != want {
			t.Errorf("%s is on %s, want %s", id, got, want)
		}
	}
}

func TestS3_2_OfTwoTasksForOneDeviceTheFirstGetsIt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a := w.submit("a", spec(phonebooth.Constraints{Tags: []string{"lab"}}))
	b := w.submit("b", spec(phonebooth.Constraints{DriverType: "android"}))
	host := w.host("h")
	s := startFIFO(t, w)
	w.sight(host, phone("p", "lab"))
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{a: phonebooth.Assigned, b: phonebooth.Queued})
}

// lastDevice is a strategy from outside: the scheduler knows it by its name alone.
type lastDevice struct{}

func (lastDevice) Rank(strategy.TaskFacts) int64 { return 0 }

func (lastDevice) Plan(v strategy.View) []strategy.Placement {
	draft := strategy.NewDraft(v)
	for task, devices := range draft.Tasks() {
		var last phonebooth.Device
		for last = range devices {
			continue
		}
		draft.Place(task, last)
	}
	return draft.Placements()
}

func TestS3_3_AStrategyFromElsewhereIsSelectedByName(t *testing.T) {
	t.Parallel()
	strategies := builtin.Registry()
	strategies.Register("last_device", func() strategy.Strategy { return lastDevice{} })
	for name, key := range map[string]string{"fifo_match": "p1", "last_device": "p2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			host := w.host("a")
			w.sight(host, phone("p1"))
			w.now = w.now.Add(time.Second)
			w.sight(host, phone("p1"), phone("p2"))
			chosen, err := strategies.New(name)
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, w, chosen, Options{})
			id := w.submit("x", phonebooth.TaskSpec{})
			idle(t, s)
			if got, want := w.task(id).DeviceID, phonebooth.DeviceIDOf(host, key); got != want {
				t.Errorf("the task is on %s, want %s", got, want)
			}
		})
	}
}

func TestC13_AHundredImpossibleTasksBlockNobody(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	for i := range 100 {
		w.submit(numbered("impossible", i), spec(phonebooth.Constraints{DriverType: "android", Tags: []string{numbered("no", i%7)}}))
	}
	possible := w.submit("possible", spec(phonebooth.Constraints{DriverType: "android"}))
	w.sight(host, phone("p"))
	s := startFIFO(t, w)
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{possible: phonebooth.Assigned, "task_impossible0": phonebooth.Queued})
	if calls, _ := w.counts(); calls != 1 {
		t.Errorf("it took %d plans, want 1", calls)
	}
	if got := s.QueueDepth(); got != 100 {
		t.Errorf("the queue holds %d tasks, want 100", got)
	}
}

func TestC19_APayloadThatReadsLikeConstraintsIsNoConstraint(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p"))
	s := startFIFO(t, w)
	id := w.submit("x", phonebooth.TaskSpec{
		Goal:        `{"constraints":{"driver_type":"ios","tags":["nowhere"]}}`,
		Inputs:      []byte(`{"driver_type":"ios","tags":["nowhere"],"device_id":"device_0"}`),
		Labels:      map[string]string{"driver_type": "ios", "tags": "nowhere", "runner": "none", "host_id": "host_0"},
		Constraints: phonebooth.Constraints{DriverType: "android"},
	})
	idle(t, s)
	if got, want := w.task(id).DeviceID, phonebooth.DeviceIDOf(host, "p"); got != want {
		t.Errorf("the task is on %q, want %q", got, want)
	}
}

func TestC26_DevicesOfASilentHostAreNoCandidatesUntilItIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p"))
	w.now = w.now.Add(w.policy.HostSilence)
	silence, err := lifecycle.Silence(w.rows.Hosts[host], w.policy, w.now)
	s := startFIFO(t, w)
	w.must(silence, err)
	id := w.submit("x", phonebooth.TaskSpec{})
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{id: phonebooth.Queued})

	w.sight(host, phone("p"))
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{id: phonebooth.Assigned})
}

func TestS5_2_AReservedDeviceIsNoCandidateThoughItsHostSaysReady(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p"))
	s := startFIFO(t, w)
	first := w.submit("first", phonebooth.TaskSpec{})
	idle(t, s)
	second := w.submit("second", phonebooth.TaskSpec{})
	w.sight(host, phone("p"))
	w.sight(host, phone("p", "new tag"))
	idle(t, s)
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{first: phonebooth.Assigned, second: phonebooth.Queued})
	if calls, _ := w.counts(); calls != 1 {
		t.Errorf("%d plans were sent, want 1", calls)
	}
}

func TestARetryKeepsItsPlaceAndTriesAnotherDeviceFirst(t *testing.T) {
	t.Parallel()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p1"))
	w.now = w.now.Add(time.Second)
	w.sight(host, phone("p1"), phone("p2"))
	s := startFIFO(t, w)
	retried := w.submit("retried", phonebooth.TaskSpec{})
	other := w.submit("other", phonebooth.TaskSpec{})
	idle(t, s)
	waiting := w.submit("waiting", phonebooth.TaskSpec{})
	idle(t, s)

	first := w.task(retried).DeviceID
	w.finish(retried, phonebooth.OutcomeAbandoned)
	idle(t, s)
	// It is older than the waiting one, and its first device is the only idle one.
	if got := w.task(retried); got.Status != phonebooth.Assigned || got.Attempt != 2 || got.DeviceID != first {
		t.Errorf("got %s, attempt %d on %s, want assigned, attempt 2 on %s", got.Status, got.Attempt, got.DeviceID, first)
	}
	wantStatus(t, w, map[phonebooth.TaskID]phonebooth.Status{waiting: phonebooth.Queued})

	var both lifecycle.Change // both devices become free in one commit
	w.with(func() { w.tell = func(c lifecycle.Change) { both = merge(both, c) } })
	second := w.task(other).DeviceID
	w.finish(other, phonebooth.OutcomeDone)
	w.finish(retried, phonebooth.OutcomeAbandoned)
	w.with(func() { w.tell = s.Apply })
	s.Apply(both)
	idle(t, s)
	if got := w.task(retried).DeviceID; got != second {
		t.Errorf("the third attempt is on %s, want the other device %s", got, second)
	}
	if got := w.task(waiting).DeviceID; got != first {
		t.Errorf("the waiting task is on %s, want %s", got, first)
	}
}

// merge is b after a, as one batch of the ledger: the last state of each row once, all events.
func merge(a, b lifecycle.Change) lifecycle.Change {
	for _, t := range b.Tasks {
		for i := range a.Tasks {
			if a.Tasks[i].ID == t.ID {
				a.Tasks = append(a.Tasks[:i], a.Tasks[i+1:]...)
				break
			}
		}
		a.Tasks = append(a.Tasks, t)
	}
	a.Hosts, a.Devices = append(a.Hosts, b.Hosts...), append(a.Devices, b.Devices...)
	a.Attempts, a.Events = append(a.Attempts, b.Attempts...), append(a.Events, b.Events...)
	a.Release, a.Reserve = append(a.Release, b.Release...), append(a.Reserve, b.Reserve...)
	return a
}

func TestWhatIsToldOfTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s := startFIFO(t, w)
	idle(t, s)
	if depth, oldest := s.QueueDepth(), s.OldestQueued(w.now); depth != 0 || oldest != 0 {
		t.Errorf("an empty queue: depth %d, oldest %v, want 0 and 0", depth, oldest)
	}
	host := w.host("a")
	w.sight(host, phone("p"))
	w.submit("first", spec(phonebooth.Constraints{Tags: []string{"none"}}))
	w.now = w.now.Add(time.Minute)
	w.submit("second", spec(phonebooth.Constraints{Tags: []string{"none"}}))
	w.submit("gone", phonebooth.TaskSpec{})
	idle(t, s)
	if depth, oldest := s.QueueDepth(), s.OldestQueued(w.now.Add(time.Second)); depth != 2 || oldest != 61*time.Second {
		t.Errorf("depth %d, oldest %v, want 2 and 1m1s", depth, oldest)
	}
}

func TestLeaseIDsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	seen := map[phonebooth.LeaseID]bool{}
	for range 1000 {
		id := string(newLeaseID())
		if rest, ok := strings.CutPrefix(id, "lease_"); !ok || len(rest) != 32 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatalf("%q is not lease_ and 32 letters and digits, which hold 160 bits", id)
		}
		seen[phonebooth.LeaseID(id)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 ids, %d different ones", len(seen))
	}
}
