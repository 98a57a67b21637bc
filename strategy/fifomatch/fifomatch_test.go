package fifomatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

func task(id phonebooth.TaskID, seq int64, c phonebooth.Constraints, failed ...phonebooth.DeviceID) strategy.Task {
	return strategy.Task{TaskFacts: strategy.TaskFacts{ID: id, Seq: seq, Constraints: c, Attempt: len(failed)}, Failed: failed}
}

func device(id phonebooth.DeviceID, age time.Duration, tags ...string) phonebooth.Device {
	return phonebooth.Device{ID: id, DriverType: "android", Tags: tags, RegisteredAt: time.Unix(1e9, 0).Add(-age)}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	android, tagged := phonebooth.Constraints{DriverType: "android"}, phonebooth.Constraints{Tags: []string{"lab"}}
	for _, tc := range []struct {
		rule    string
		tasks   []strategy.Task
		devices []phonebooth.Device
		want    []strategy.Placement
	}{
		{
			"S3.2 A then B overlap, one device: A gets it",
			[]strategy.Task{task("B", 2, android), task("A", 1, tagged)},
			[]phonebooth.Device{device("d", 0, "lab")},
			[]strategy.Placement{{TaskID: "A", DeviceID: "d"}},
		},
		{
			"S3.2 the same the other way round",
			[]strategy.Task{task("A", 1, android), task("B", 2, tagged)},
			[]phonebooth.Device{device("d", 0, "lab")},
			[]strategy.Placement{{TaskID: "A", DeviceID: "d"}},
		},
		{
			"S3.1 the oldest task across lanes, the first registered device",
			[]strategy.Task{task("C", 3, android), task("B", 2, tagged), task("A", 1, android)},
			[]phonebooth.Device{device("new", 0, "lab"), device("old", time.Hour), device("older", 2*time.Hour, "lab")},
			[]strategy.Placement{{TaskID: "A", DeviceID: "older"}, {TaskID: "B", DeviceID: "new"}, {TaskID: "C", DeviceID: "old"}},
		},
		{
			"devices registered at one moment go by id",
			[]strategy.Task{task("A", 1, android)},
			[]phonebooth.Device{device("d2", 0), device("d1", 0)},
			[]strategy.Placement{{TaskID: "A", DeviceID: "d1"}},
		},
		{
			"another device first after a failed attempt",
			[]strategy.Task{task("A", 1, android, "d1"), task("B", 2, android)},
			[]phonebooth.Device{device("d1", 0), device("d2", 0)},
			[]strategy.Placement{{TaskID: "A", DeviceID: "d2"}, {TaskID: "B", DeviceID: "d1"}},
		},
		{
			"the same device again when there is no other",
			[]strategy.Task{task("A", 1, android, "d1")},
			[]phonebooth.Device{device("d1", 0)},
			[]strategy.Placement{{TaskID: "A", DeviceID: "d1"}},
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			s := fifomatch.New()
			if diff := cmp.Diff(tc.want, s.Plan(strategytest.NewView(s, tc.tasks, tc.devices))); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}
