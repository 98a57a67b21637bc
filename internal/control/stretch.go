package control

import (
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Stretch is a time in which a device was out, or was being cleaned.
type Stretch struct {
	Track  string    // whose word it is: "condition" (the host's), "hold" (ours) or "host" (what befell the host)
	State  string    // such as "offline", "quarantined", "silent"; "unknown" where the record does not reach back
	Reason string    // may be empty
	Begin  time.Time // may be before the span
	End    time.Time // zero: it goes on at the span's end
	Count  int       // how many events it stands for, more than one where they are too close to be told apart
}

// stretches are the changes of a timeline by whose they are.
type stretches struct {
	devices map[phonebooth.DeviceID][]store.Change
	hosts   map[phonebooth.HostID][]store.Change
}

func stretchesOf(line store.Timeline) stretches {
	s := stretches{devices: map[phonebooth.DeviceID][]store.Change{}, hosts: map[phonebooth.HostID][]store.Change{}}
	note := func(c store.Change) {
		if c.DeviceID == "" {
			s.hosts[c.HostID] = append(s.hosts[c.HostID], c)
			return
		}
		s.devices[c.DeviceID] = append(s.devices[c.DeviceID], c)
	}
	for _, e := range line.Before {
		note(store.Change{Event: e, Count: 1})
	}
	for _, c := range line.Within {
		note(c)
	}
	return s
}

// of are the stretches of one device in the span, rebuilt from the record; from the device's row where the record is younger
// than the span.
func (s stretches) of(d phonebooth.Device, h phonebooth.Host, from, to time.Time) []Stretch {
	condition, hold := newTrace("condition", from, to), newTrace("hold", from, to)
	silence, drain := newTrace("host", from, to), newTrace("host", from, to)
	condition.since(string(d.Condition), d.ConditionReason, d.ConditionSince, d.RegisteredAt)
	hold.since(string(d.Hold), d.HoldReason, d.HoldSince, d.RegisteredAt)
	silence.since(map[bool]string{false: "silent"}[h.SilentSince.IsZero()], "", h.SilentSince, h.RegisteredAt)
	drain.since(map[bool]string{false: "draining"}[h.DrainingSince.IsZero()], "", h.DrainingSince, h.RegisteredAt)
	for _, c := range s.devices[d.ID] {
		switch c.Kind {
		case phonebooth.DeviceRegistered, phonebooth.DeviceChanged:
			condition.change(c, string(c.Detail.Condition))
		case phonebooth.DeviceHeld, phonebooth.DeviceUnheld:
			hold.change(c, string(c.Detail.Hold))
		}
	}
	for _, c := range s.hosts[d.HostID] {
		switch c.Kind {
		case phonebooth.HostSilent:
			silence.change(c, "silent")
		case phonebooth.HostHeard:
			silence.change(c, "")
		case phonebooth.HostDraining:
			drain.change(c, "draining")
		case phonebooth.HostResumed:
			drain.change(c, "")
		}
	}
	out := slices.Concat(condition.end(), hold.end(), silence.end(), drain.end())
	slices.SortStableFunc(out, func(a, b Stretch) int { return a.Begin.Compare(b.Begin) })
	return out
}

// plain are the states that are no stretches: nothing is wrong, or an attempt tells it.
var plain = map[string]bool{"": true, string(phonebooth.Ready): true, string(phonebooth.Leased): true, string(phonebooth.NoHold): true}

// trace follows one thing through the span.
type trace struct {
	track    string
	from, to time.Time
	now      Stretch
	done     []Stretch
}

func newTrace(track string, from, to time.Time) *trace {
	return &trace{track: track, from: from, to: to}
}

// since says what the row tells: state, since then. Where that is not as old as the span, the state at its begin is not known
// until an event tells it, unless the row is younger.
func (t *trace) since(state, reason string, since, registered time.Time) {
	switch {
	case !registered.Before(t.to):
		t.now = Stretch{Track: t.track}
	case !since.After(t.from):
		t.now = Stretch{Track: t.track, State: state, Reason: reason, Begin: since, Count: 1}
	case registered.Before(t.from):
		t.now = Stretch{Track: t.track, State: "unknown", Begin: t.from, Count: 1}
	}
}

// change ends what was so and begins what is so now. An event before the span only says how it begins.
func (t *trace) change(c store.Change, state string) {
	next := Stretch{Track: t.track, State: state, Reason: c.Detail.Reason, Begin: c.At, Count: c.Count}
	if state == t.now.State && c.At.After(t.from) {
		t.now.Count += c.Count
		t.now.Reason = c.Detail.Reason
		return
	}
	if c.At.After(t.from) {
		t.close(c.At)
	}
	t.now = next
}

func (t *trace) close(at time.Time) {
	if plain[t.now.State] || t.now.State == "unknown" && t.track != "condition" {
		return
	}
	t.now.End = at
	t.done = append(t.done, t.now)
}

// end gives all of them.
func (t *trace) end() []Stretch {
	t.close(time.Time{})
	return t.done
}
