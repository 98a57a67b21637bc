package strategy_test

import (
	"fmt"
	"iter"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

// spread gives the oldest task the device whose host has got the fewest tasks in this plan, so that a burst does not land on
// one machine.
type spread struct{}

func (spread) Rank(strategy.TaskFacts) int64 { return 0 }

func (spread) Plan(v strategy.View) []strategy.Placement {
	draft := strategy.NewDraft(v)
	given := map[phonebooth.HostID]int{}
	for task, devices := range draft.Tasks() {
		if device, ok := leastGiven(devices, given); ok && draft.Place(task, device) {
			given[device.HostID]++
		}
	}
	return draft.Placements()
}

func leastGiven(devices iter.Seq[phonebooth.Device], given map[phonebooth.HostID]int) (best phonebooth.Device, ok bool) {
	for d := range devices {
		if !ok || given[d.HostID] < given[best.HostID] {
			best, ok = d, true
		}
	}
	return best, ok
}

// A strategy of one's own is two methods and a name. The scheduler is not edited; configuration selects the name.
func Example() {
	strategies := builtin.Registry()
	strategies.Register("spread", func() strategy.Strategy { return spread{} })

	s, err := strategies.New("spread")
	if err != nil {
		fmt.Println(err)
		return
	}
	view := strategytest.NewView(s,
		[]strategy.Task{
			{TaskFacts: strategy.TaskFacts{ID: "task_1", Seq: 1}},
			{TaskFacts: strategy.TaskFacts{ID: "task_2", Seq: 2}},
		},
		[]phonebooth.Device{
			{ID: "device_1", HostID: "host_a"}, {ID: "device_2", HostID: "host_a"}, {ID: "device_3", HostID: "host_b"},
		})
	for _, p := range s.Plan(view) {
		fmt.Println(p.TaskID, "->", p.DeviceID)
	}
	// Output:
	// task_1 -> device_1
	// task_2 -> device_3
}
