package strategytest

import (
	"cmp"
	"iter"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// NewView is the view that a scheduler using s would make of these queued tasks and idle devices, in whatever order they
// are given. Each task's Rank is asked of s; Failed is taken as it is.
func NewView(s strategy.Strategy, tasks []strategy.Task, devices []phonebooth.Device) strategy.View {
	devices = slices.SortedFunc(slices.Values(devices), compareDevices)
	lanes := map[string]*lane{}
	for _, t := range tasks {
		t.Constraints = t.Constraints.Normalized()
		t.Rank = s.Rank(t.TaskFacts)
		l := lanes[t.Constraints.Key()]
		if l == nil {
			l = &lane{constraints: t.Constraints}
			for _, d := range devices {
				if t.Constraints.Match(d) == phonebooth.Matches {
					l.devices = append(l.devices, d)
				}
			}
			lanes[t.Constraints.Key()] = l
		}
		l.tasks = append(l.tasks, t)
	}
	var open []*lane
	for _, l := range lanes {
		slices.SortFunc(l.tasks, strategy.Task.Compare)
		if len(l.devices) > 0 {
			open = append(open, l)
		}
	}
	slices.SortFunc(open, func(a, b *lane) int { return a.tasks[0].Compare(b.tasks[0]) })
	var v strategy.View
	for _, l := range open {
		v.Lanes = append(v.Lanes, l)
	}
	return v
}

func compareDevices(a, b phonebooth.Device) int {
	return cmp.Or(a.RegisteredAt.Compare(b.RegisteredAt), cmp.Compare(a.ID, b.ID))
}

// lane is a strategy.Lane over sorted slices.
type lane struct {
	constraints phonebooth.Constraints
	tasks       []strategy.Task
	devices     []phonebooth.Device
}

func (l *lane) Constraints() phonebooth.Constraints  { return l.constraints }
func (l *lane) Tasks() iter.Seq[strategy.Task]       { return slices.Values(l.tasks) }
func (l *lane) Devices() iter.Seq[phonebooth.Device] { return slices.Values(l.devices) }
func (l *lane) TasksAfter(id phonebooth.TaskID) iter.Seq[strategy.Task] {
	return slices.Values(after(l.tasks, func(t strategy.Task) bool { return t.ID == id }))
}

func (l *lane) DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	return slices.Values(after(l.devices, func(d phonebooth.Device) bool { return d.ID == id }))
}

func after[T any](sorted []T, mark func(T) bool) []T {
	return sorted[slices.IndexFunc(sorted, mark)+1:]
}
