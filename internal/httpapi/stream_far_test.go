package httpapi_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// endless is a record that goes on and on without anything that is asked for. reads are those that go by no filter.
type endless struct {
	*scripted
	reads atomic.Int64
}

func (f *endless) EventsBehind(_ context.Context, pos int64) ([]phonebooth.Event, error) {
	f.reads.Add(1)
	events := make([]phonebooth.Event, 256)
	for i := range events {
		events[i] = phonebooth.Event{Pos: pos + 1 + int64(i), Kind: phonebooth.TaskDone}
	}
	return events, nil
}

func (f *endless) EventPage(_ context.Context, filter store.EventFilter) (store.EventPage, error) {
	return store.EventPage{Next: filter.After + 5000, More: true}, nil
}

func (f *endless) EventsAfter(int64) <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func TestAStreamFarBehindBeatsMovesOnAndStops(t *testing.T) {
	t.Parallel()
	f := &endless{scripted: newScripted()}
	r := newRigOf(t, f)
	lines := follow(t, r, "?after=0&kind=host.removed")
	at := int64(0)
	for range 3 {
		wait(t, lines, ": heartbeat")
		pos, err := strconv.ParseInt(strings.TrimPrefix(wait(t, lines, "id: "), "id: "), 10, 64)
		if err != nil || pos <= at {
			t.Fatalf("a heartbeat tells position %d behind %d, %v; want one further on", pos, at, err)
		}
		at = pos
	}
	if reads := f.reads.Load(); reads != 1 {
		t.Errorf("%d pages were read without the filter, want only the one that shows how far it is", reads)
	}
	r.api.Close()
	for range lines { // ends: the server stops
	}
}

func TestAStreamFarBehindFindsWhatMatches(t *testing.T) {
	t.Parallel()
	f := newScripted()
	for range 3 {
		for range 600 {
			f.commit(phonebooth.Event{Kind: phonebooth.TaskDone})
		}
		f.commit(phonebooth.Event{Kind: phonebooth.HostRemoved})
	}
	r := newRig(t, f)
	lines := follow(t, r, "?after=0&kind=host.removed")
	for _, pos := range []string{"601", "1202", "1803", "1804"} {
		if pos == "1804" {
			f.commit(phonebooth.Event{Kind: phonebooth.HostRemoved})
		}
		if got := wait(t, lines, "data: "); !strings.Contains(got, `"pos":`+pos+`,`) {
			t.Errorf("got %s, want position %s", got, pos)
		}
	}
}
