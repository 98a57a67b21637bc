// Package strategytest checks that a strategy keeps the contract of package strategy. The author of one calls, from a test:
//
//	func TestNearest(t *testing.T) { strategytest.Run(t, nearest.New) }
//
// It draws queues and pools at random and looks at the plans that are made of them; a failure prints the smallest queue and
// pool that it could find. What a strategy prefers is its own affair and is not checked here; [NewView] helps to test that.
//
// It is for tests only.
package strategytest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// Run checks the strategy that create makes: it is pure; it uses each task and each device once, and matching ones only;
// it leaves no device idle that a queued task could have, whatever stands at the head of the queue (S2.1, S2.2); and of two
// tasks that differ in their age alone the older goes first.
func Run(t *testing.T, create func() strategy.Strategy) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.check(create, impossibleHead()); err != nil {
				t.Errorf("a hundred tasks that no device can serve, then one that an idle device can: %v", err)
			}
			rapid.Check(t, func(t *rapid.T) {
				if err := c.check(create, drawScene(t)); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

type namedCheck struct {
	name  string
	check func(create func() strategy.Strategy, sc scene) error
}

// checks are what a plan is held against.
var checks = []namedCheck{
	{"pure", pure},
	{"sound", sound},
	{"work conserving", workConserving},
	{"older of equals first", olderFirst},
}

func pure(create func() strategy.Strategy, sc scene) error {
	s := create()
	for _, task := range sc.tasks {
		if a, b, c := s.Rank(task.TaskFacts), s.Rank(task.TaskFacts), create().Rank(task.TaskFacts); a != b || a != c {
			return fmt.Errorf("the same task was ranked %d, %d and %d", a, b, c)
		}
	}
	first := sc.plan(s)
	if diff := cmp.Diff(first, sc.plan(s)); diff != "" {
		return fmt.Errorf("the second plan of the same view differs (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(first, sc.plan(create())); diff != "" {
		return fmt.Errorf("another instance plans the same view differently (-first +other):\n%s", diff)
	}
	return nil
}

func sound(create func() strategy.Strategy, sc scene) error {
	tasks, devices := map[phonebooth.TaskID]bool{}, map[phonebooth.DeviceID]bool{}
	for _, p := range sc.plan(create()) {
		if tasks[p.TaskID] || devices[p.DeviceID] {
			return fmt.Errorf("the plan uses a task or a device twice: %v", p)
		}
		tasks[p.TaskID], devices[p.DeviceID] = true, true
		task, device := sc.task(p.TaskID), sc.device(p.DeviceID)
		if task == nil || device == nil {
			return fmt.Errorf("the plan names something that the view does not hold: %v", p)
		}
		if m := task.Constraints.Match(*device); m != phonebooth.Matches {
			return fmt.Errorf("the plan %v is against the task's %s", p, m)
		}
	}
	return nil
}

func workConserving(create func() strategy.Strategy, sc scene) error {
	plan := sc.plan(create())
	for _, task := range sc.tasks {
		if placed(plan, task.ID) {
			continue
		}
		for _, d := range sc.devices {
			used := slices.ContainsFunc(plan, func(p strategy.Placement) bool { return p.DeviceID == d.ID })
			if !used && task.Constraints.Match(d) == phonebooth.Matches {
				return fmt.Errorf("%s waits and %s is idle, though they match; the plan is %v", task.ID, d.ID, plan)
			}
		}
	}
	return nil
}

func olderFirst(create func() strategy.Strategy, sc scene) error {
	plan := sc.plan(create())
	for _, older := range sc.tasks {
		for _, younger := range sc.tasks {
			equal := older.Constraints.Key() == younger.Constraints.Key() && older.Priority == younger.Priority &&
				older.Attempt == younger.Attempt
			if equal && older.Seq < younger.Seq && placed(plan, younger.ID) && !placed(plan, older.ID) {
				return fmt.Errorf("%s goes before %s, which is equal and older; the plan is %v", younger.ID, older.ID, plan)
			}
		}
	}
	return nil
}

func placed(plan []strategy.Placement, id phonebooth.TaskID) bool {
	return slices.ContainsFunc(plan, func(p strategy.Placement) bool { return p.TaskID == id })
}
