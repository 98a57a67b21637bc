package strategytest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// faulty plans what plan makes of the plan that would be right.
type faulty struct {
	rank func(strategy.TaskFacts) int64
	plan func(v strategy.View, right []strategy.Placement) []strategy.Placement
}

func (f faulty) Rank(t strategy.TaskFacts) int64 { return f.rank(t) }
func (f faulty) Plan(v strategy.View) []strategy.Placement {
	return f.plan(v, strategy.FirstMatch(v))
}

func level(strategy.TaskFacts) int64 { return 0 }

func asIs(_ strategy.View, right []strategy.Placement) []strategy.Placement { return right }

func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault, check string
		create       func() strategy.Strategy
	}{
		{"a plan that changes from call to call", "pure", func() strategy.Strategy {
			calls := 0
			return faulty{level, func(_ strategy.View, right []strategy.Placement) []strategy.Placement {
				calls++
				return right[:len(right)/calls]
			}}
		}},
		{"a rank that changes from call to call", "pure", func() strategy.Strategy {
			calls := int64(0)
			return faulty{func(strategy.TaskFacts) int64 { calls++; return calls }, asIs}
		}},
		{"one device for two tasks", "sound", func() strategy.Strategy {
			return faulty{level, func(_ strategy.View, right []strategy.Placement) []strategy.Placement {
				if len(right) > 1 {
					right[1].DeviceID = right[0].DeviceID
				}
				return right
			}}
		}},
		{"devices that do not match", "sound", func() strategy.Strategy {
			return faulty{level, func(_ strategy.View, right []strategy.Placement) []strategy.Placement {
				if n := len(right); n > 1 {
					right[0].DeviceID, right[n-1].DeviceID = right[n-1].DeviceID, right[0].DeviceID
				}
				return right
			}}
		}},
		{"a device that does not exist", "sound", func() strategy.Strategy {
			return faulty{level, func(strategy.View, []strategy.Placement) []strategy.Placement {
				return []strategy.Placement{{TaskID: "task_000", DeviceID: "device_nowhere"}}
			}}
		}},
		{"one placement at a time", "work conserving", func() strategy.Strategy {
			return faulty{level, func(_ strategy.View, right []strategy.Placement) []strategy.Placement {
				return right[:min(1, len(right))]
			}}
		}},
		{"the youngest first", "older of equals first", func() strategy.Strategy {
			return faulty{func(t strategy.TaskFacts) int64 { return -t.Seq }, asIs}
		}},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(checks, func(c namedCheck) bool { return c.name == tc.check })
			for seed := range 100 {
				if checks[i].check(tc.create, rapid.Custom(drawScene).Example(seed)) != nil {
					return
				}
			}
			t.Errorf("the check %q found nothing in 100 scenes", tc.check)
		})
	}
}

func TestAViewIsWhatCanBePlaced(t *testing.T) {
	t.Parallel()
	android, ios := phonebooth.Constraints{DriverType: "android"}, phonebooth.Constraints{DriverType: "ios"}
	view := NewView(faulty{level, asIs},
		[]strategy.Task{newTask(0, ios), newTask(2, android), newTask(1, android), newTask(3, phonebooth.Constraints{})},
		[]phonebooth.Device{newDevice(0, "android", nil), newDevice(1, "android", nil)})
	var got []string
	for _, lane := range view.Lanes {
		for task := range lane.Tasks() {
			got = append(got, string(task.ID))
		}
		for d := range lane.Devices() {
			got = append(got, string(d.ID))
		}
	}
	want := []string{"task_001", "task_002", "device_001", "device_000", "task_003", "device_001", "device_000"}
	if !slices.Equal(got, want) {
		t.Errorf("the view holds %v, want %v", got, want)
	}
}
