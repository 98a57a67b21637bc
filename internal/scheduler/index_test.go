package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
	"github.com/phonebooth-dev/phonebooth/strategy/priority"
)

// image is everything that an index decides by, in a form that can be compared.
type image struct {
	Lanes map[string]laneImage
	Open  []string
	Age   []string
	Held  map[phonebooth.DeviceID]phonebooth.AttemptKey
}

type laneImage struct{ Tasks, Idle []string }

func (x *index) image() image {
	im := image{Lanes: map[string]laneImage{}, Held: map[phonebooth.DeviceID]phonebooth.AttemptKey{}}
	for key, l := range x.lanes {
		if l.queued == 0 {
			continue
		}
		var li laneImage
		for t := range l.Tasks() {
			failed := slices.Sorted(slices.Values(t.Failed))
			li.Tasks = append(li.Tasks, fmt.Sprint(t.ID, t.Rank, t.Seq, t.Priority, t.CreatedAt, t.Attempt, failed))
		}
		for d := range l.Devices() {
			li.Idle = append(li.Idle, fmt.Sprint(d.ID, d.Rev))
		}
		im.Lanes[key] = li
	}
	for _, l := range x.view().Lanes {
		im.Open = append(im.Open, l.Constraints().Key())
	}
	x.age.Ascend(func(w aged) bool { im.Age = append(im.Age, string(w.id)); return true })
	for id, d := range x.devices {
		if d.reservation != nil {
			im.Held[id] = d.reservation.Attempt
		}
	}
	return im
}

// actor drives a world with verbs drawn at random.
type actor struct {
	*world
	t     *rapid.T
	count int
	keys  map[phonebooth.HostID][]lifecycle.Sighting
}

func newActor(t *rapid.T) *actor {
	a := &actor{world: newWorld(), t: t, keys: map[phonebooth.HostID][]lifecycle.Sighting{}}
	for _, name := range []string{"a", "b"} {
		host := a.host(name)
		for i := range 2 {
			a.keys[host] = append(a.keys[host], phone(numbered("p", i), []string{"lab", "spare"}[i]))
		}
		a.sight(host, a.keys[host]...)
	}
	return a
}

// pick draws one of the rows that pass; it skips the action when there is none.
func pick[K ~string, V any](a *actor, rows map[K]V, pass func(V) bool) V {
	var ids []K
	for id, v := range rows {
		if pass(v) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		a.t.Skip("none")
	}
	slices.Sort(ids)
	return rows[rapid.SampledFrom(ids).Draw(a.t, "id")]
}

// try commits what a verb decides, when it does not refuse.
func (a *actor) try(c lifecycle.Change, err error) {
	if err == nil {
		a.commit(c)
	}
}

func constraints() *rapid.Generator[phonebooth.Constraints] {
	return rapid.SampledFrom([]phonebooth.Constraints{
		{},
		{DriverType: "android"},
		{Tags: []string{"lab"}},
		{DriverType: "android", Tags: []string{"spare"}},
		{HostID: "host_a"},
		{DeviceID: phonebooth.DeviceIDOf("host_b", "p1")},
		{DriverType: "ios"},
		{Runner: "adb-shell"},
	})
}

func (a *actor) actions() map[string]func(*rapid.T) {
	anyHost := func(phonebooth.Host) bool { return true }
	anyDevice := func(phonebooth.Device) bool { return true }
	active := func(t phonebooth.Task) bool { return t.Status.Active() }
	return map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			a.count++
			a.now = a.now.Add(time.Millisecond)
			a.submit(fmt.Sprintf("%04d", a.count), phonebooth.TaskSpec{
				Constraints: constraints().Draw(t, "constraints"), Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
			})
		},
		"place": func(t *rapid.T) {
			task := pick(a, a.rows.Tasks, func(t phonebooth.Task) bool { return t.Status == phonebooth.Queued })
			d := pick(a, a.rows.Devices, anyDevice)
			a.Place(t.Context(), []lifecycle.Placement{{TaskID: task.ID, DeviceID: d.ID, HostID: d.HostID}})
		},
		"report": func(t *rapid.T) {
			task := pick(a, a.rows.Tasks, active)
			if l := a.live(task.ID); l.Host.RemovedAt.IsZero() {
				a.finish(task.ID, rapid.SampledFrom([]phonebooth.Outcome{
					phonebooth.OutcomeDone, phonebooth.OutcomeFailed, phonebooth.OutcomeAbandoned, phonebooth.OutcomeCancelled,
				}).Draw(t, "outcome"))
			}
		},
		"expire": func(*rapid.T) {
			l := a.live(pick(a, a.rows.Tasks, active).ID)
			a.try(lifecycle.Expire(l, a.policy, l.Attempt.ExpiresAt.Add(a.policy.Grace)))
		},
		"cancel": func(*rapid.T) {
			a.try(lifecycle.Cancel(pick(a, a.rows.Tasks, func(t phonebooth.Task) bool { return !t.Status.Terminal() }), a.now))
		},
		"inventory": func(t *rapid.T) {
			host := pick(a, a.rows.Hosts, func(h phonebooth.Host) bool { return h.RemovedAt.IsZero() }).ID
			seen := slices.Clone(a.keys[host])[rapid.IntRange(0, 1).Draw(t, "missing"):]
			seen[0].Condition = rapid.SampledFrom([]phonebooth.Condition{phonebooth.Ready, phonebooth.Cleaning}).Draw(t, "condition")
			seen[0].Tags = rapid.SampledFrom([][]string{{"lab"}, {"spare"}, nil}).Draw(t, "tags")
			a.sight(host, seen...)
		},
		"host": func(t *rapid.T) {
			h := pick(a, a.rows.Hosts, anyHost)
			switch rapid.IntRange(0, 5).Draw(t, "verb") {
			case 0:
				a.try(lifecycle.Drain(h, a.now), nil)
			case 1:
				a.try(lifecycle.Resume(h), nil)
			case 2:
				a.try(lifecycle.Silence(h, a.policy, h.HeardAt.Add(a.policy.HostSilence)))
			case 3:
				a.try(lifecycle.Poll(h, h.Incarnation, a.now))
			case 4:
				a.try(lifecycle.Deafen(h, "test", a.now, a.now))
			case 5:
				if h.ID == "host_b" {
					a.try(lifecycle.Remove(h, len(a.rows.Reservations), a.now))
				}
			}
		},
		"hold": func(t *rapid.T) {
			d := pick(a, a.rows.Devices, anyDevice)
			if rapid.Bool().Draw(t, "cordon") {
				a.commit(lifecycle.Cordon(d, "test", a.now))
			} else {
				a.commit(lifecycle.Uncordon(d))
			}
		},
	}
}

func snapshot(t *rapid.T, w *world) store.Snapshot {
	s, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rebuilt(t *rapid.T, w *world) *index {
	x := newIndex(priority.New().Rank)
	x.load(snapshot(t, w))
	return x
}

func TestAnIndexThatFollowsIsOneBuiltAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := newActor(t)
		x := rebuilt(t, a.world)
		a.tell = func(c lifecycle.Change) {
			if !x.apply(c) {
				t.Fatal("the index believes that a commit is missing")
			}
		}
		var before *store.Snapshot // of a comparison that is under way
		actions := a.actions()
		actions["compare"] = func(t *rapid.T) {
			if before == nil {
				s := snapshot(t, a.world)
				before, x.touched = &s, map[string]bool{}
				return
			}
			if n := x.reconcile(*before); n != 0 {
				t.Fatalf("a comparison with an older snapshot finds %d differences", n)
			}
			before = nil
		}
		actions[""] = func(t *rapid.T) {
			if diff := cmp.Diff(rebuilt(t, a.world).image(), x.image()); diff != "" {
				t.Fatalf("the index differs from a new one (-new +index):\n%s", diff)
			}
			if before != nil {
				return
			}
			if n := x.reconcile(snapshot(t, a.world)); n != 0 {
				t.Fatalf("the comparison finds %d differences where there is none", n)
			}
		}
		t.Repeat(actions)
	})
}

// A snapshot that is newer than the changes that follow it, and one that comes when some were lost.
func TestAnIndexCatchesUpWithWhatItMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := newActor(t)
		x := newIndex(priority.New().Rank)
		var feed []lifecycle.Change
		a.tell = func(c lifecycle.Change) { feed = append(feed, c) }
		loaded, lost := false, false
		actions := a.actions()
		actions["load"] = func(t *rapid.T) {
			if loaded {
				t.Skip("once")
			}
			loaded = true
			x.load(snapshot(t, a.world)) // what happened before is still in the feed
		}
		actions["follow"] = func(t *rapid.T) {
			if !loaded {
				t.Skip("no snapshot yet")
			}
			for _, c := range feed {
				if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
					lost = true
					continue
				}
				x.apply(c)
			}
			feed = nil
		}
		t.Repeat(actions)
		if !loaded {
			x.load(snapshot(t, a.world))
		}
		for _, c := range feed {
			x.apply(c)
		}
		n := x.reconcile(snapshot(t, a.world))
		if n > 0 && !lost {
			t.Errorf("%d differences though nothing was lost", n)
		}
		if diff := cmp.Diff(rebuilt(t, a.world).image(), x.image()); diff != "" {
			t.Fatalf("the repaired index differs from a new one (-new +index):\n%s", diff)
		}
	})
}

func TestC14_OfTwoEqualTasksTheOlderGoesFirst(t *testing.T) {
	t.Parallel()
	strategies := builtin.Registry()
	for _, name := range strategies.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s, err := strategies.New(name)
				if err != nil {
					t.Fatal(err)
				}
				a := newActor(t)
				x := newIndex(s.Rank)
				x.load(snapshot(t, a.world))
				a.tell = func(c lifecycle.Change) { x.apply(c) }
				t.Repeat(a.actions())
				plan := s.Plan(x.view())
				placed := map[phonebooth.TaskID]bool{}
				for _, p := range plan {
					placed[p.TaskID] = true
				}
				queued := snapshot(t, a.world).Tasks
				for _, older := range queued {
					for _, younger := range queued {
						equal := older.Constraints.Key() == younger.Constraints.Key() && older.Priority == younger.Priority
						if equal && older.Seq < younger.Seq && placed[younger.ID] && !placed[older.ID] {
							t.Fatalf("%s goes before %s, which is equal and older", younger.ID, older.ID)
						}
					}
				}
			})
		})
	}
}
