package control

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func TestStretchesAreRebuiltFromTheRecord(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	from, to := at(0), at(60)
	type word = phonebooth.EventDetail
	change := func(minutes int, kind phonebooth.EventKind, detail word) phonebooth.Event {
		return phonebooth.Event{At: at(minutes), Kind: kind, DeviceID: "d", HostID: "h", Detail: detail}
	}
	ofHost := func(minutes int, kind phonebooth.EventKind) phonebooth.Event {
		return phonebooth.Event{At: at(minutes), Kind: kind, HostID: "h"}
	}
	is := func(minutes int, c phonebooth.Condition) phonebooth.Event {
		return change(minutes, phonebooth.DeviceChanged, word{Condition: c})
	}
	old := phonebooth.Device{ID: "d", HostID: "h", Condition: phonebooth.Ready, ConditionSince: at(59), RegisteredAt: at(-600)}
	host := phonebooth.Host{ID: "h", RegisteredAt: at(-600)}
	stretch := func(track, state string, begin, end int) Stretch {
		s := Stretch{Track: track, State: state, Begin: at(begin), Count: 1}
		if end > 0 {
			s.End = at(end)
		}
		return s
	}
	young := old
	young.RegisteredAt = at(30)
	steady := old
	steady.Condition, steady.ConditionSince, steady.Hold, steady.HoldSince = phonebooth.Offline, at(-500), phonebooth.Cordoned, at(-400)
	for _, c := range []struct {
		name           string
		device         phonebooth.Device
		before, within []phonebooth.Event
		want           []Stretch
	}{
		{"ready all along", old, []phonebooth.Event{is(-3, phonebooth.Ready)}, nil, nil},
		{
			"out at the beginning", old,
			[]phonebooth.Event{is(-3, phonebooth.Offline)},
			[]phonebooth.Event{is(5, phonebooth.Ready)},
			[]Stretch{stretch("condition", "offline", -3, 5)},
		},
		{
			"leased, cleaned, ready", old,
			[]phonebooth.Event{is(-3, phonebooth.Ready)},
			[]phonebooth.Event{is(5, phonebooth.Leased), is(6, phonebooth.Cleaning), is(7, phonebooth.Ready)},
			[]Stretch{stretch("condition", "cleaning", 6, 7)},
		},
		{
			"out at the end", old,
			[]phonebooth.Event{is(-3, phonebooth.Ready)},
			[]phonebooth.Event{is(50, phonebooth.Unconfirmed)},
			[]Stretch{stretch("condition", "unconfirmed", 50, 0)},
		},
		{
			"the record is younger than the span", old, nil,
			[]phonebooth.Event{is(20, phonebooth.Ready)},
			[]Stretch{stretch("condition", "unknown", 0, 20)},
		},
		{
			"the record is gone, the row is older than the span", steady, nil, nil,
			[]Stretch{stretch("condition", "offline", -500, 0), stretch("hold", "cordoned", -400, 0)},
		},
		{"registered in the span", young, nil, []phonebooth.Event{
			change(30, phonebooth.DeviceRegistered, word{Condition: phonebooth.Unhealthy}), is(31, phonebooth.Ready),
		}, []Stretch{stretch("condition", "unhealthy", 30, 31)}},
		{"held twice", old, []phonebooth.Event{is(-3, phonebooth.Ready)}, []phonebooth.Event{
			change(10, phonebooth.DeviceHeld, word{Hold: phonebooth.Quarantined}), change(20, phonebooth.DeviceHeld, word{Hold: phonebooth.Cordoned}),
			change(30, phonebooth.DeviceUnheld, word{Hold: phonebooth.NoHold}),
		}, []Stretch{stretch("hold", "quarantined", 10, 20), stretch("hold", "cordoned", 20, 30)}},
		{
			"its host is silent, and drained", old,
			[]phonebooth.Event{is(-3, phonebooth.Ready), ofHost(-2, phonebooth.HostSilent)},
			[]phonebooth.Event{ofHost(10, phonebooth.HostHeard), ofHost(11, phonebooth.HostDraining)},
			[]Stretch{stretch("host", "silent", -2, 10), stretch("host", "draining", 11, 0)},
		},
	} {
		line := store.Timeline{Before: c.before}
		for _, e := range c.within {
			line.Within = append(line.Within, store.Change{Event: e, Count: 1})
		}
		if diff := cmp.Diff(c.want, stretchesOf(line).of(c.device, host, from, to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAWordThatRepeatsItselfIsOneStretch(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	line := store.Timeline{Within: []store.Change{
		{Event: phonebooth.Event{At: at(10), Kind: phonebooth.DeviceChanged, DeviceID: "d", Detail: phonebooth.EventDetail{Condition: "offline"}}, Count: 2},
		{Event: phonebooth.Event{At: at(20), Kind: phonebooth.DeviceChanged, DeviceID: "d", Detail: phonebooth.EventDetail{Condition: "offline", Reason: "still"}}, Count: 3},
	}}
	d := phonebooth.Device{ID: "d", RegisteredAt: at(9), Condition: "offline", ConditionSince: at(10)}
	got := stretchesOf(line).of(d, phonebooth.Host{}, at(5), at(60))
	want := []Stretch{{Track: "condition", State: "offline", Reason: "still", Begin: at(10), Count: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
