package storetest

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// ran writes an attempt of a task of its own on d, from begin until end after base; end 0: it is live.
func ran(t *testing.T, st store.Store, seq int64, d phonebooth.Device, begin, end time.Duration, ending phonebooth.Ending) {
	t.Helper()
	v := task(phonebooth.TaskID("task"+string(rune('a'+seq))), seq)
	c := placed(v, d)
	a := c.Attempts[0]
	a.AssignedAt, a.DispatchedAt = after(begin), after(begin+time.Second)
	if end != 0 {
		a.State, a.Ending, a.EndedAt, a.Reason.Code = phonebooth.AttemptEnded, ending, after(end), "code"
		c.Reserve = nil
	}
	c.Attempts, c.Events = []phonebooth.Attempt{a}, nil
	mustPut(t, st, c)
}

func timelineBars(t *testing.T, st store.Store) {
	d1, d2 := device("d1", "h1"), device("d2", "h1")
	mustPut(t, st, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}, Devices: []phonebooth.Device{d1, d2}})
	minute := time.Minute
	ran(t, st, 1, d1, 0, minute, phonebooth.EndedDone)            // over before the span
	ran(t, st, 2, d1, 2*minute, 12*minute, phonebooth.EndedDone)  // reaches into it
	ran(t, st, 3, d1, 20*minute, 21*minute, phonebooth.EndedDone) // these two begin within one fold
	ran(t, st, 4, d1, 22*minute, 23*minute, phonebooth.EndedDone)
	ran(t, st, 5, d1, 24*minute, 25*minute, phonebooth.EndedFailed) // so does this one, but it ended otherwise
	ran(t, st, 6, d1, 40*minute, 0, "")
	ran(t, st, 7, d2, minute, 0, "") // live through the whole span
	ran(t, st, 8, d2, 70*minute, 71*minute, phonebooth.EndedDone)
	q := store.TimelineQuery{
		Devices: []phonebooth.DeviceID{"d1", "d2", "d9"}, Hosts: []phonebooth.HostID{"h1"},
		From: base.Add(10 * minute), To: base.Add(60 * minute), Fold: 10 * minute,
	}
	bar := func(seq rune, d phonebooth.DeviceID, begin, end time.Duration, ending phonebooth.Ending, count int) store.Bar {
		id := phonebooth.TaskID("task" + string('a'+seq))
		b := store.Bar{
			DeviceID: d, Begin: after(begin), Started: after(begin + time.Second), Ending: ending, Count: count,
			Key: phonebooth.AttemptKey{TaskID: id, Number: 1}, Goal: "print " + string(id),
		}
		if end != 0 {
			b.End, b.Code = after(end), "code"
		}
		return b
	}
	// Folds are counted from 1970; base is a whole hour and 123,456 microseconds.
	same(t, "bars", must[store.Timeline](t)(st.Timeline(t.Context(), q)).Bars, []store.Bar{
		bar(2, "d1", 2*minute, 12*minute, phonebooth.EndedDone, 1),
		bar(3, "d1", 20*minute, 23*minute, phonebooth.EndedDone, 2),
		bar(5, "d1", 24*minute, 25*minute, phonebooth.EndedFailed, 1),
		bar(6, "d1", 40*minute, 0, "", 1),
		bar(7, "d2", minute, 0, "", 1),
	})
	q.Fold, q.Devices = time.Microsecond, []phonebooth.DeviceID{"d1"}
	if n := len(must[store.Timeline](t)(st.Timeline(t.Context(), q)).Bars); n != 5 {
		t.Errorf("unfolded there are %d bars of d1, want 5", n)
	}
}

func timelineChanges(t *testing.T, st store.Store) {
	mustPut(t, st, lifecycle.Change{Hosts: []phonebooth.Host{host("h1")}, Devices: []phonebooth.Device{device("d1", "h1"), device("d2", "h1")}})
	happens := func(after time.Duration, kind phonebooth.EventKind, d phonebooth.DeviceID, detail phonebooth.EventDetail) {
		t.Helper()
		c := lifecycle.Change{Events: []phonebooth.Event{{Kind: kind, DeviceID: d, HostID: "h1", Detail: detail}}}
		if err := st.Write(t.Context(), func(tx store.Tx) error { return save(t.Context(), tx, c, base.Add(after)) }); err != nil {
			t.Fatal(err)
		}
	}
	is := func(c phonebooth.Condition) phonebooth.EventDetail { return phonebooth.EventDetail{Condition: c} }
	minute := time.Minute
	happens(0, phonebooth.DeviceRegistered, "d1", is(phonebooth.Ready))                                   // 1
	happens(minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Offline))                               // 2
	happens(minute, phonebooth.DeviceHeld, "d1", phonebooth.EventDetail{Hold: phonebooth.Cordoned})       // 3
	happens(minute, phonebooth.HostSilent, "", phonebooth.EventDetail{})                                  // 4
	happens(minute, phonebooth.DeviceRegistered, "d2", is(phonebooth.Ready))                              // 5
	happens(10*minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Ready))                              // 6
	happens(21*minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Offline))                            // 7
	happens(22*minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Leased))                             // 8
	happens(23*minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Ready))                              // 9
	happens(24*minute, phonebooth.DeviceUnheld, "d1", phonebooth.EventDetail{Hold: phonebooth.NoHold})    // 10
	happens(25*minute, phonebooth.HostHeard, "", phonebooth.EventDetail{})                                // 11
	happens(26*minute, phonebooth.HostDraining, "", phonebooth.EventDetail{})                             // 12
	happens(27*minute, phonebooth.TaskAssigned, "d1", phonebooth.EventDetail{})                           // 13
	happens(60*minute, phonebooth.DeviceChanged, "d1", is(phonebooth.Offline))                            // 14
	happens(61*minute, phonebooth.DeviceHeld, "d2", phonebooth.EventDetail{Hold: phonebooth.Quarantined}) // 15
	line := must[store.Timeline](t)(st.Timeline(t.Context(), store.TimelineQuery{
		Devices: []phonebooth.DeviceID{"d1", "d2"}, Hosts: []phonebooth.HostID{"h1"},
		From: base.Add(5 * minute), To: base.Add(60 * minute), Fold: 10 * minute,
	}))
	before := map[int64]bool{}
	for _, e := range line.Before {
		before[e.Pos] = true
	}
	same(t, "before", before, map[int64]bool{2: true, 3: true, 4: true, 5: true})
	var within []int64
	counts := map[int64]int{}
	for _, c := range line.Within {
		within = append(within, c.Pos)
		counts[c.Pos] = c.Count
	}
	same(t, "within", within, []int64{6, 7, 9, 10, 11, 12})
	if counts[9] != 3 || counts[6] != 1 {
		t.Errorf("event 9 stands for %d, event 6 for %d, want 3 and 1", counts[9], counts[6])
	}
	same(t, "detail", line.Within[1].Detail, is(phonebooth.Offline))
}
