package server_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// Readers follow the record while several callers and hosts write, while streams break and are taken up again, and over a
// restart of the control plane.
func TestC45_StreamsMissNothingAndRepeatNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		c := sys.Client(t)
		whole, broken := &reader{client: c}, &reader{client: c, atOnce: 7}
		var reading, writing sync.WaitGroup
		for _, r := range []*reader{whole, broken} {
			reading.Go(func() { r.read(t) })
		}
		for i := range 3 {
			tag := fmt.Sprintf("tag%d", i)
			phone := servertest.Phone("p1")
			phone.Tags = []string{tag}
			host := sys.Host(t, "h"+tag, phone)
			writing.Go(func() {
				for range 6 {
					task, err := sys.TrySubmit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Tags: []string{tag}}})
					if err != nil {
						t.Errorf("submit: %v", err)
						return
					}
					a := host.ClaimOneAs(t, "claim-"+task.ID)
					if _, err := host.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"}); err != nil {
						t.Errorf("report: %v", err)
					}
				}
			})
		}
		writing.Wait()
		sys.Restart(t)
		sys.Host(t, lastHost)
		reading.Wait()
		for name, r := range map[string]*reader{"one stream": whole, "streams that break": broken} {
			checkRecord(t, name, r.events)
		}
	})
}

// lastHost is the host whose enrollment ends the reading.
const lastHost = "last"

// reader follows the record from its beginning.
type reader struct {
	client *client.Client
	atOnce int // events of one stream, before it breaks; 0: it does not
	events []v1.Event
}

func (r *reader) read(t *testing.T) {
	for end := false; !end && !t.Failed(); {
		ctx, cancel := context.WithCancel(t.Context())
		var after int64
		if n := len(r.events); n > 0 {
			after = r.events[n-1].Pos
		}
		n := 0
		for e, err := range r.client.Follow(ctx, client.EventQuery{After: after}) {
			if err != nil {
				t.Errorf("follow: %v", err)
				break
			}
			r.events = append(r.events, e)
			n++
			if end = e.Kind == "host.enrolled" && e.Detail.Name == lastHost; end || n == r.atOnce {
				break
			}
		}
		cancel()
	}
}

// checkRecord sees that the positions have no gap, so that nothing is missing, and that each task's events are in order.
func checkRecord(t *testing.T, name string, events []v1.Event) {
	t.Helper()
	story := map[string][]string{}
	for i, e := range events {
		if e.Pos != int64(i+1) {
			t.Fatalf("%s: event %d has position %d", name, i+1, e.Pos)
		}
		if e.TaskID != "" {
			story[e.TaskID] = append(story[e.TaskID], e.Kind)
		}
	}
	if len(story) != 18 {
		t.Errorf("%s: events of %d tasks, want 18", name, len(story))
	}
	for id, kinds := range story {
		if want := []string{"task.submitted", "task.assigned", "task.dispatched", "task.done"}; !slices.Equal(kinds, want) {
			t.Errorf("%s: task %s went through %v, want %v", name, id, kinds, want)
		}
	}
}
