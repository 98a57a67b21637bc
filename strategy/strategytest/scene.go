package strategytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// scene is a queue and the idle devices of a pool.
type scene struct {
	tasks   []strategy.Task // in the order of submission
	devices []phonebooth.Device
}

func (sc scene) view(s strategy.Strategy) strategy.View        { return NewView(s, sc.tasks, sc.devices) }
func (sc scene) plan(s strategy.Strategy) []strategy.Placement { return s.Plan(sc.view(s)) }

func (sc scene) task(id phonebooth.TaskID) *strategy.Task {
	if i := slices.IndexFunc(sc.tasks, func(t strategy.Task) bool { return t.ID == id }); i >= 0 {
		return &sc.tasks[i]
	}
	return nil
}

func (sc scene) device(id phonebooth.DeviceID) *phonebooth.Device {
	if i := slices.IndexFunc(sc.devices, func(d phonebooth.Device) bool { return d.ID == id }); i >= 0 {
		return &sc.devices[i]
	}
	return nil
}

// epoch is when the first task of a scene was submitted.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newTask(i int, c phonebooth.Constraints) strategy.Task {
	return strategy.Task{TaskFacts: strategy.TaskFacts{
		ID: phonebooth.TaskID(fmt.Sprintf("task_%03d", i)), Seq: int64(i + 1),
		CreatedAt: epoch.Add(time.Duration(i) * time.Minute), Constraints: c.Normalized(),
	}}
}

func newDevice(i int, driver string, tags []string) phonebooth.Device {
	return phonebooth.Device{
		ID: phonebooth.DeviceID(fmt.Sprintf("device_%03d", i)), HostID: phonebooth.HostID(fmt.Sprintf("host_%d", i%2)),
		DriverType: driver, Tags: phonebooth.Constraints{Tags: tags}.Normalized().Tags, Runners: []string{"command"},
		Condition: phonebooth.Ready, RegisteredAt: epoch.Add(-time.Duration(i%5) * time.Hour),
	}
}

// impossibleHead is a queue whose first hundred tasks no device can serve, and whose last one an idle device can.
func impossibleHead() scene {
	sc := scene{devices: []phonebooth.Device{newDevice(0, "android", nil)}}
	for i := range 100 {
		sc.tasks = append(sc.tasks, newTask(i, phonebooth.Constraints{DriverType: "android", Tags: []string{"nowhere"}}))
	}
	sc.tasks = append(sc.tasks, newTask(100, phonebooth.Constraints{DriverType: "android"}))
	return sc
}

// drawScene draws few kinds of everything, so that constraints overlap and tasks compete.
func drawScene(t *rapid.T) scene {
	drivers, tags := rapid.SampledFrom([]string{"android", "ios"}), rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2)
	var sc scene
	for i := range rapid.IntRange(0, 8).Draw(t, "devices") {
		sc.devices = append(sc.devices, newDevice(i, drivers.Draw(t, "device driver"), tags.Draw(t, "device tags")))
	}
	for i := range rapid.IntRange(0, 16).Draw(t, "tasks") {
		c := phonebooth.Constraints{DriverType: rapid.SampledFrom([]string{"", "android", "ios"}).Draw(t, "driver"), Tags: tags.Draw(t, "tags")}
		if len(sc.devices) > 0 && rapid.IntRange(0, 9).Draw(t, "pinned") == 0 {
			c = phonebooth.Constraints{DeviceID: rapid.SampledFrom(sc.devices).Draw(t, "device").ID}
		}
		task := newTask(i, c)
		task.Priority = rapid.IntRange(-2, 2).Draw(t, "priority")
		for range rapid.IntRange(0, min(2, len(sc.devices))).Draw(t, "attempt") {
			task.Attempt++
			task.Failed = append(task.Failed, rapid.SampledFrom(sc.devices).Draw(t, "failed on").ID)
		}
		sc.tasks = append(sc.tasks, task)
	}
	return sc
}
