package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// motley are tasks that differ in all that lists are filtered by, oldest first.
func motley(t *testing.T, st store.Store, n int) []phonebooth.Task {
	t.Helper()
	mustPut(t, st, lifecycle.Change{
		Hosts: []phonebooth.Host{host("h0"), host("h1")}, Devices: []phonebooth.Device{device("d0", "h0"), device("d1", "h1")},
	})
	var tasks []phonebooth.Task
	var change lifecycle.Change
	for i := range n {
		v := task(phonebooth.TaskID(fmt.Sprintf("t%03d", i)), int64(i+1))
		v.CreatedAt = after(time.Duration(i/3) * time.Second)
		v.Status = phonebooth.Statuses()[i%6]
		v.Goal = []string{"Open Settings", "tap 100% _of_ it", "ÄÖ 電話"}[i%3]
		v.Constraints.DriverType = []string{"", "sim", "ios"}[i/2%3]
		if i%4 != 0 {
			v.Labels = map[string]string{"n": fmt.Sprint(i % 3)}
		}
		if i%5 == 0 {
			v.Labels = map[string]string{"n": "", "suite": "nightly \u202e\x1b[31m"}
		}
		if i%7 == 0 {
			v.Workflow, v.Goal = &phonebooth.WorkflowRef{Name: "login", Version: i%2 + 1}, ""
		}
		if v.Status != phonebooth.Queued {
			v.Attempt, v.DeviceID, v.HostID = 1, phonebooth.DeviceID(fmt.Sprintf("d%d", i%2)), phonebooth.HostID(fmt.Sprintf("h%d", i%2))
			a := attempt(v.ID, 1, device(v.DeviceID, v.HostID))
			if v.Status.Terminal() {
				v.FinishedAt = after(time.Hour)
				a = ended(a)
			} else {
				v.LeaseExpiresAt = a.ExpiresAt
			}
			change.Attempts = append(change.Attempts, a)
		}
		tasks = append(tasks, v)
		stored := v
		stored.LeaseExpiresAt = time.Time{}
		change.Tasks = append(change.Tasks, stored)
	}
	mustPut(t, st, change)
	return tasks
}

// chosen says what a filter means, one task at a time.
func chosen(f store.TaskFilter, v phonebooth.Task) bool {
	workflow := phonebooth.WorkflowRef{}
	if v.Workflow != nil {
		workflow = *v.Workflow
	}
	return (len(f.Status) == 0 || slices.Contains(f.Status, v.Status)) && (f.DeviceID == "" || f.DeviceID == v.DeviceID) &&
		(f.HostID == "" || f.HostID == v.HostID) && (f.Workflow == "" || f.Workflow == workflow.Name) &&
		(f.WorkflowVersion == 0 || f.WorkflowVersion == workflow.Version) &&
		(len(f.DriverTypes) == 0 || slices.Contains(f.DriverTypes, v.Constraints.DriverType)) &&
		(f.Since.IsZero() || !v.CreatedAt.Before(f.Since)) && (f.Until.IsZero() || v.CreatedAt.Before(f.Until)) &&
		(f.Text == "" || f.Text == "SETTINGS" && v.Goal == "Open Settings" || f.Text == "0% _" && v.Goal == "tap 100% _of_ it") &&
		!slices.ContainsFunc(f.Labels, func(l store.Label) bool { return !l.In(v.Labels) })
}

// taskListsAreWhatFiltersMean tries filters of every kind against what they mean, a page at a time.
func taskListsAreWhatFiltersMean(t *testing.T, st store.Store) {
	tasks := motley(t, st, 84)
	rapid.Check(t, func(r *rapid.T) {
		maybe := func(name string) bool { return rapid.IntRange(0, 3).Draw(r, name) == 0 }
		f := store.TaskFilter{Limit: rapid.IntRange(1, 20).Draw(r, "limit")}
		if rapid.Bool().Draw(r, "some statuses") {
			f.Status = rapid.SliceOfNDistinct(rapid.SampledFrom(phonebooth.Statuses()), 1, 3, rapid.ID).Draw(r, "status")
		}
		if maybe("device") {
			f.DeviceID = "d1"
		}
		if maybe("host") {
			f.HostID = "h0"
		}
		if maybe("workflow") {
			f.Workflow, f.WorkflowVersion = "login", rapid.IntRange(0, 2).Draw(r, "version")
		}
		if maybe("driver") {
			f.DriverTypes = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "sim", "ios", "none"}), 1, 2, rapid.ID).Draw(r, "drivers")
		}
		if maybe("text") {
			f.Text = rapid.SampledFrom([]string{"SETTINGS", "0% _"}).Draw(r, "text")
		}
		if rapid.Bool().Draw(r, "labelled") {
			f.Labels = rapid.SliceOfN(rapid.SampledFrom([]store.Label{
				{Name: "n", Any: true}, {Name: "n", Value: "1"}, {Name: "n"}, {Name: "suite", Value: "nightly \u202e\x1b[31m"}, {Name: "none", Any: true},
			}), 1, 2).Draw(r, "labels")
		}
		if maybe("since") {
			f.Since = after(time.Duration(rapid.IntRange(-1, 30).Draw(r, "from")) * time.Second)
		}
		if maybe("until") {
			f.Until = after(time.Duration(rapid.IntRange(-1, 30).Draw(r, "to")) * time.Second)
		}
		var want, got []phonebooth.TaskID
		for _, v := range slices.Backward(tasks) {
			if chosen(f, v) {
				want = append(want, v.ID)
			}
		}
		for pages := 0; ; pages++ {
			page, err := st.Tasks(t.Context(), f)
			if err != nil || pages > len(tasks) {
				r.Fatalf("page %d of %+v: %v", pages, f, err)
			}
			for _, v := range page.Tasks {
				got = append(got, v.ID)
			}
			if f.Before = page.Next; page.Next == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			r.Fatalf("%+v\n\tgives %v\n\twant  %v", f, got, want)
		}
	})
}

// aPageIsABoundedLook lets one task in thousands be asked for: pages are empty until it is reached, and none is missed.
func aPageIsABoundedLook(t *testing.T, st store.Store) {
	const n, step = 5600, 1400
	for low := 0; low < n; low += step {
		var change lifecycle.Change
		for i := low; i < low+step; i++ {
			v := task(phonebooth.TaskID(fmt.Sprintf("t%05d", i)), int64(i+1))
			v.Constraints.DriverType = "sim"
			if i == 0 || i == 300 {
				v.Constraints.DriverType = "rare"
			}
			change.Tasks = append(change.Tasks, v)
		}
		mustPut(t, st, change)
	}
	f := store.TaskFilter{DriverTypes: []string{"rare"}, Limit: 10}
	var got []phonebooth.TaskID
	var pages []int
	for {
		page := must[store.TaskPage](t)(st.Tasks(t.Context(), f))
		for _, v := range page.Tasks {
			got = append(got, v.ID)
		}
		pages = append(pages, len(page.Tasks))
		if f.Before = page.Next; page.Next == 0 {
			break
		}
	}
	same(t, "found", got, []phonebooth.TaskID{"t00300", "t00000"})
	same(t, "on the pages", pages, []int{0, 2})
}

func eventPages(t *testing.T, st store.Store) {
	pool(t, st) // three events
	labels := map[string]string{"team": "qa", "x": ""}
	ofTask := phonebooth.Event{Kind: phonebooth.TaskDone, TaskID: "t1", DeviceID: "d1", HostID: "h1", Labels: labels}
	mustPut(t, st, lifecycle.Change{Events: []phonebooth.Event{
		ofTask, {Kind: phonebooth.DeviceChanged, DeviceID: "d1", HostID: "h1"}, {Kind: phonebooth.HostSilent, HostID: "h2"}, ofTask,
	}})
	if err := st.Write(t.Context(), func(tx store.Tx) error {
		return save(t.Context(), tx, lifecycle.Change{Events: []phonebooth.Event{ofTask}}, after(time.Hour))
	}); err != nil {
		t.Fatalf("write: %v", err)
	}
	span := store.EventSpan{Oldest: 1, Newest: 8}
	same(t, "span", must[store.EventSpan](t)(st.EventSpan(t.Context())), span)
	for _, c := range []struct {
		name   string
		filter store.EventFilter
		want   []int64
		next   int64
		more   bool
	}{
		{"all", store.EventFilter{Limit: 10}, []int64{1, 2, 3, 4, 5, 6, 7, 8}, 8, false},
		{"some", store.EventFilter{After: 2, Limit: 2}, []int64{3, 4}, 4, true},
		{"the last ones", store.EventFilter{After: 6, Limit: 2}, []int64{7, 8}, 8, false},
		{"behind the end", store.EventFilter{After: 8, Limit: 2}, nil, 8, false},
		{"none of it", store.EventFilter{Kinds: []phonebooth.EventKind{phonebooth.HostDeaf}, Limit: 2}, nil, 8, false},
		{"newest first", store.EventFilter{Newest: true, Limit: 3}, []int64{8, 7, 6}, 6, true},
		{"and then", store.EventFilter{Newest: true, Before: 6, Limit: 9}, []int64{5, 4, 3, 2, 1}, 1, false},
		{"of two kinds", store.EventFilter{Kinds: []phonebooth.EventKind{phonebooth.HostSilent, phonebooth.DeviceChanged}, Limit: 9}, []int64{5, 6}, 8, false},
		{"of a task and a device", store.EventFilter{TaskID: "t1", DeviceID: "d1", Limit: 2}, []int64{4, 7}, 7, true},
		{"of a host, newest first", store.EventFilter{HostID: "h1", Newest: true, Limit: 2}, []int64{8, 7}, 7, true},
		{"with a label", store.EventFilter{Labels: []store.Label{{Name: "team", Value: "qa"}, {Name: "x", Any: true}}, Limit: 9}, []int64{4, 7, 8}, 8, false},
		{"with an empty label", store.EventFilter{Labels: []store.Label{{Name: "x"}}, Limit: 9, After: 4}, []int64{7, 8}, 8, false},
		{"with another value", store.EventFilter{Labels: []store.Label{{Name: "team", Value: "dev"}}, Limit: 9}, nil, 8, false},
	} {
		page := must[store.EventPage](t)(st.EventPage(t.Context(), c.filter))
		var got []int64
		for _, e := range page.Events {
			got = append(got, e.Pos)
			if !c.filter.Match(e) {
				t.Errorf("%s: the filter denies %+v", c.name, e)
			}
		}
		same(t, c.name, got, c.want)
		if page.Next != c.next || page.More != c.more || page.Span != span {
			t.Errorf("%s: next %d, more %v, span %v; want %d, %v", c.name, page.Next, page.More, page.Span, c.next, c.more)
		}
	}
	for at, want := range map[time.Time]int64{base.Add(-time.Second): 0, base: 0, after(time.Microsecond): 7, after(time.Hour): 7, after(2 * time.Hour): 8} {
		same(t, "since "+at.String(), must[int64](t)(st.EventSince(t.Context(), at)), want)
	}
}

// prunedEventsAreKnown looks at a record without its beginning, and at one that is empty.
func prunedEventsAreKnown(t *testing.T, st store.Store) {
	same(t, "of an empty record", must[store.EventSpan](t)(st.EventSpan(t.Context())), store.EventSpan{Oldest: 1})
	pool(t, st)
	labelled := task("t9", 4)
	labelled.Labels, labelled.Status, labelled.FinishedAt = map[string]string{"a": "b"}, phonebooth.Done, after(time.Second)
	mustPut(t, st, lifecycle.Change{Tasks: []phonebooth.Task{labelled}})
	if err := st.Write(t.Context(), func(tx store.Tx) error {
		late := phonebooth.Event{Kind: phonebooth.AttemptLateReport, TaskID: "t9", Labels: labelled.Labels}
		return save(t.Context(), tx, lifecycle.Change{Events: []phonebooth.Event{late}}, after(time.Hour))
	}); err != nil {
		t.Fatalf("write: %v", err)
	}
	must[[]phonebooth.TaskID](t)(st.Prune(t.Context(), after(time.Minute), 10))
	same(t, "of a pruned record", must[store.EventSpan](t)(st.EventSpan(t.Context())), store.EventSpan{Oldest: 4, Newest: 4})
	page := must[store.EventPage](t)(st.EventPage(t.Context(), store.EventFilter{Labels: []store.Label{{Name: "a", Value: "b"}}, Limit: 5}))
	if len(page.Events) != 1 || page.Events[0].TaskID != "t9" {
		t.Errorf("the events of a task that is gone, by its label: %+v", page)
	}
	if left := must[store.TaskPage](t)(st.Tasks(t.Context(), store.TaskFilter{Labels: []store.Label{{Name: "a", Value: "b"}}})); len(left.Tasks) != 0 {
		t.Errorf("a task that is gone is listed: %+v", left)
	}
	must[[]phonebooth.TaskID](t)(st.Prune(t.Context(), after(2*time.Hour), 10))
	same(t, "of a record that is gone", must[store.EventSpan](t)(st.EventSpan(t.Context())), store.EventSpan{Oldest: 5, Newest: 4})
	same(t, "since, of a record that is gone", must[int64](t)(st.EventSince(t.Context(), base)), int64(4))
}
