package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// TestEventsAreFollowedByLabel has every event of a task carry the task's labels, through all of its life.
func TestEventsAreFollowedByLabel(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host, c := sys.Host(t, "h1", servertest.Phone("p1")), sys.Client(t)
		run := func(labels map[string]string) string {
			t.Helper()
			task := sys.Submit(t, v1.TaskRequest{Goal: "x", Labels: labels})
			a := host.ClaimOneAs(t, "claim-"+task.ID)
			host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Condition: "ready"})
			return task.ID
		}
		day, night := run(map[string]string{"suite": "day"}), run(map[string]string{"suite": "night \u202e\x1b[31m<b>", "flaky": ""})
		want := []string{"task.submitted", "task.assigned", "task.dispatched", "task.done"}
		query := client.EventQuery{Labels: []string{"suite=night \u202e\x1b[31m<b>", "flaky"}, Kinds: []string{"task.*"}}
		var streamed []string
		for e, err := range c.Follow(t.Context(), query) {
			if err != nil || e.TaskID != night {
				t.Fatalf("got %+v, %v", e, err)
			}
			if streamed = append(streamed, e.Kind); len(streamed) == len(want) {
				break
			}
		}
		page, err := c.Events(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		var paged []string
		for _, e := range page.Events {
			paged = append(paged, e.Kind)
		}
		if !slices.Equal(streamed, want) || !slices.Equal(paged, want) || page.More {
			t.Errorf("a stream gives %v, a page %v (more: %v), want %v", streamed, paged, page.More, want)
		}
		for query, want := range map[string]string{"suite": day + " " + night, "suite=day": day, "flaky": night, "none": ""} {
			list, err := c.Tasks(t.Context(), client.TaskQuery{Labels: []string{query}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, task := range list.Tasks {
				got = append([]string{task.ID}, got...)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("tasks with the label %s: %v, want %s", query, got, want)
			}
		}
	})
}

// TestAListIsStableUnderWrites pages through tasks while others are submitted: each is seen once.
func TestAListIsStableUnderWrites(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		c := sys.Client(t)
		var want, got []string
		for i := range 7 {
			want = append([]string{sys.Submit(t, v1.TaskRequest{Goal: fmt.Sprint(i), Labels: map[string]string{"n": "1"}}).ID}, want...)
		}
		for q := (client.TaskQuery{Limit: 2, Labels: []string{"n=1"}, Status: []string{"queued", "cancelled"}}); ; {
			page, err := c.Tasks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.Tasks {
				got = append(got, task.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
			sys.Submit(t, v1.TaskRequest{Goal: "new", Labels: map[string]string{"n": "1"}})
			if _, err := c.Cancel(t.Context(), want[len(got)]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
