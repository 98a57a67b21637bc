package scheduler

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

func TestEmptyLanesAreKeptWithinABound(t *testing.T) {
	t.Parallel()
	w := newWorld()
	x := newIndex(fifomatch.New().Rank)
	w.tell = func(c lifecycle.Change) { x.apply(c) }
	host := w.host("a")
	comeAndGo := func(i int) {
		id := w.submit(numbered("t", i), phonebooth.TaskSpec{Constraints: phonebooth.Constraints{DriverType: numbered("d", i)}})
		w.must(lifecycle.Cancel(w.task(id), w.now))
	}
	comeAndGo(0)
	w.submit("again", phonebooth.TaskSpec{Constraints: phonebooth.Constraints{DriverType: "d0"}})
	for i := range 3 * maxEmptyLanes {
		comeAndGo(1 + i)
	}
	if got := len(x.lanes); got > maxEmptyLanes+1 {
		t.Errorf("%d lanes are kept, want at most %d and the one with a task", got, maxEmptyLanes)
	}
	seen := phone("p")
	seen.DriverType = "d0"
	w.sight(host, seen)
	if got := len(x.view().Lanes); got != 1 {
		t.Errorf("%d lanes can be planned, want the one that was empty for a while", got)
	}
}

func TestADeviceThatNeverChangesForgetsClosedLanes(t *testing.T) {
	t.Parallel()
	w, x, host := scene(t)
	var tags []string
	for i := range 11 {
		tags = append(tags, numbered("tag", i))
	}
	w.sight(host, phone("p1"), phone("p2", tags...))
	for i := range 1 << len(tags) { // each some of its tags
		var some []string
		for n, tag := range tags {
			if i&(1<<n) != 0 {
				some = append(some, tag)
			}
		}
		id := w.submit(numbered("t", i), phonebooth.TaskSpec{Constraints: phonebooth.Constraints{Tags: some}})
		w.must(lifecycle.Cancel(w.task(id), w.now))
	}
	d := x.devices[phonebooth.DeviceIDOf(host, "p2")]
	if got, most := len(d.lanes), 2*(maxEmptyLanes+1); got > most {
		t.Errorf("it names %d lanes, want at most %d", got, most)
	}
}

// scene is an index that follows a world with two ready phones.
func scene(t *testing.T) (*world, *index, phonebooth.HostID) {
	t.Helper()
	w := newWorld()
	host := w.host("a")
	w.sight(host, phone("p1"), phone("p2"))
	x := newIndex(fifomatch.New().Rank)
	s, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.load(s)
	w.tell = func(c lifecycle.Change) { x.apply(c) }
	return w, x, host
}

func TestChangesThatTheSnapshotHoldsAreNotAppliedAgain(t *testing.T) {
	t.Parallel()
	w, _, _ := scene(t)
	var feed []lifecycle.Change
	w.tell = func(c lifecycle.Change) { feed = append(feed, c) }
	w.must(lifecycle.Cancel(w.task(w.submit("x", phonebooth.TaskSpec{})), w.now))
	x := newIndex(fifomatch.New().Rank)
	s, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.load(s)
	x.apply(feed[0])
	if got := x.age.Len(); got != 0 {
		t.Errorf("%d tasks are queued: one that has ended came back", got)
	}
}

// Rows that were read again may be older than what the feed has told meanwhile.
func TestRowsThatWereReadTooEarlyChangeNothing(t *testing.T) {
	t.Parallel()
	w, x, _ := scene(t)
	id := w.submit("x", phonebooth.TaskSpec{})
	plan := fifomatch.New().Plan(x.view())
	p, ok := x.begin(plan[0])
	if !ok {
		t.Fatalf("%v cannot be begun", plan[0])
	}
	if err := w.Place(t.Context(), []lifecycle.Placement{p.Placement})[0]; err != nil {
		t.Fatal(err)
	}
	w.finish(id, phonebooth.OutcomeAbandoned)
	early, err := read(t.Context(), w, []planned{p}) // queued after one attempt, device free
	if err != nil {
		t.Fatal(err)
	}
	p.LeaseID = "lease_second"
	if err := w.Place(t.Context(), []lifecycle.Placement{p.Placement})[0]; err != nil {
		t.Fatal(err)
	}
	w.commit(lifecycle.Cordon(w.rows.Devices[p.DeviceID], "test", w.now))

	x.refresh(early)
	if p.task.queued || p.device.reservation == nil || p.device.row.Hold != phonebooth.Cordoned {
		t.Errorf("after older rows: queued %v, reservation %v, hold %s, want false, one, cordoned",
			p.task.queued, p.device.reservation, p.device.row.Hold)
	}

	w.finish(id, phonebooth.OutcomeDone)
	x.refresh(early)
	x.setDeviceBusy(p.device, false)
	x.setBusy(p.task, false)
	if len(x.tasks) != 0 || len(x.histories) != 0 {
		t.Errorf("%d tasks and %d histories are left of a task that has ended, want none", len(x.tasks), len(x.histories))
	}
}
