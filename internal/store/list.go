package store

import (
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Label is a term about labels: there is one of that name and, unless Any, it has that value.
type Label struct {
	Name, Value string
	Any         bool
}

// In reports whether the term is true of labels.
func (l Label) In(labels map[string]string) bool {
	value, ok := labels[l.Name]
	return ok && (l.Any || value == l.Value)
}

// TaskFilter chooses tasks, newest submission first. All terms must be true; an empty one is.
type TaskFilter struct {
	Status          []phonebooth.Status // any of these
	DeviceID        phonebooth.DeviceID // now or last
	HostID          phonebooth.HostID   // now or last
	Labels          []Label             // all of them
	Workflow        string
	WorkflowVersion int       // of Workflow; 0: any
	DriverTypes     []string  // any of these, of the constraints
	Since, Until    time.Time // submitted at or after, and before
	Text            string    // in the goal, whatever the case of ASCII letters
	Before          int64     // Seq below this; 0: from the newest
	Limit           int       // of a page; 0: all, however many there are
}

// TaskPage is what one look has found. One look is at a bounded number of tasks, so that a page may be short, or empty, and
// not be the last one.
type TaskPage struct {
	Tasks []phonebooth.Task
	Next  int64 // Before of the next page; 0: there is no more
}

// EventFilter chooses events, oldest first. All terms must be true; an empty one is.
type EventFilter struct {
	After    int64 // Pos above this
	TaskID   phonebooth.TaskID
	DeviceID phonebooth.DeviceID
	HostID   phonebooth.HostID
	Kinds    []phonebooth.EventKind // any of these
	Labels   []Label                // of the event's task, all of them
	Limit    int                    // 0: all

	// Of [Reader.EventPage] alone.
	Newest bool  // newest first
	Before int64 // then Pos below this; 0: from the newest
}

// Match reports whether e is chosen, wherever it stands.
func (f EventFilter) Match(e phonebooth.Event) bool {
	if f.TaskID != "" && f.TaskID != e.TaskID || f.DeviceID != "" && f.DeviceID != e.DeviceID || f.HostID != "" && f.HostID != e.HostID {
		return false
	}
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) {
		return false
	}
	return !slices.ContainsFunc(f.Labels, func(l Label) bool { return !l.In(e.Labels) })
}

// EventPage is what one look has found. One look is at a bounded number of events, so that a page may be short, or empty, and
// not be the last one.
type EventPage struct {
	Events []phonebooth.Event
	Next   int64 // After of the next page, Before if the newest come first
	More   bool  // there may be more behind Next
	Span   EventSpan
}

// EventSpan is which events there are: the positions from Oldest to Newest. There are none when Oldest is above Newest.
type EventSpan struct{ Oldest, Newest int64 }
