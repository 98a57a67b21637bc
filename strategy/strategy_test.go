package strategy_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

// S3.3: a strategy from outside keeps the contract without knowing anything of the scheduler.
func TestS3_3_ACustomStrategyKeepsTheContract(t *testing.T) {
	t.Parallel()
	strategytest.Run(t, func() strategy.Strategy { return spread{} })
}

func TestRegisterRefusesWhatCannotBeSelected(t *testing.T) {
	t.Parallel()
	create := func() strategy.Strategy { return spread{} }
	for _, tc := range []struct {
		about, name string
		create      func() strategy.Strategy
	}{
		{"a taken name", "taken", create},
		{"no name", "", create},
		{"a name with a space", "two words", create},
		{"no constructor", "fresh", nil},
	} {
		t.Run(tc.about, func(t *testing.T) {
			t.Parallel()
			var r strategy.Registry
			r.Register("taken", create)
			defer func() {
				if recover() == nil {
					t.Errorf("Register(%q) did not panic", tc.name)
				}
			}()
			r.Register(tc.name, tc.create)
		})
	}
}

// A draft of many placements does not look at its used devices again and again.
func TestADraftLooksAtEachDeviceAFewTimes(t *testing.T) {
	t.Parallel()
	const n = 1000
	var tasks []strategy.Task
	var devices []phonebooth.Device
	for i := range n {
		tasks = append(tasks, strategy.Task{TaskFacts: strategy.TaskFacts{ID: phonebooth.TaskID(rune(i)), Seq: int64(i)}})
		devices = append(devices, phonebooth.Device{ID: phonebooth.DeviceID(rune(i))})
	}
	looks := 0
	view := strategytest.NewView(spread{}, tasks, devices)
	view.Lanes[0] = counting{view.Lanes[0], &looks}
	if got := len(strategy.FirstMatch(view)); got != n {
		t.Fatalf("%d placements, want %d", got, n)
	}
	if looks > 5*n {
		t.Errorf("%d devices looked at for %d placements", looks, n)
	}
}

func TestADraftCanBeWalkedTwice(t *testing.T) {
	t.Parallel()
	view := strategytest.NewView(spread{},
		[]strategy.Task{{TaskFacts: strategy.TaskFacts{ID: "A", Seq: 1}}, {TaskFacts: strategy.TaskFacts{ID: "B", Seq: 2}}},
		[]phonebooth.Device{{ID: "d1"}, {ID: "d2"}})
	draft := strategy.NewDraft(view)
	for task, devices := range draft.Tasks() {
		for d := range devices {
			if task.ID == "B" && !draft.Place(task, d) {
				t.Fatal("B was not placed")
			}
			if draft.Used(d.ID) && draft.Place(task, d) {
				t.Fatal("a device was placed twice")
			}
			break
		}
	}
	var again []phonebooth.TaskID
	for task, devices := range draft.Tasks() {
		again = append(again, task.ID)
		for d := range devices {
			if d.ID != "d2" {
				t.Errorf("%s is offered %s, want d2", task.ID, d.ID)
			}
		}
	}
	if len(again) != 1 || again[0] != "A" {
		t.Errorf("the second walk yields %v, want A alone", again)
	}
}
