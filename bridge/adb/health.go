package adb

import (
	"context"
	"maps"
	"time"
)

const (
	// checkEvery is the pause between two looks at how a device is; one that did not answer is looked at again sooner.
	checkEvery = time.Minute
	checkAgain = 5 * time.Second
	// tooManyMisses is how many looks in a row must go unanswered until a device is no candidate any more.
	tooManyMisses = 2
)

// health is what is known of how a device is.
type health struct {
	vitals map[string]string
	misses int       // looks in a row that were not answered
	next   time.Time // when to look again
}

// check is one look at a device: vitals is nil when it did not answer.
type check struct {
	transport uint64
	vitals    map[string]string
}

// check looks at every device whose time has come, and at once at those that a lease has left. Each is asked beside the others,
// so one that hangs holds up itself alone. A device is left alone while a lease is on it.
func (w *watch) check(ctx context.Context) {
	for _, id := range w.identities {
		d := id.Transports[0]
		known := w.health[d.TransportID]
		if !d.State.Ready() || w.checking[d.TransportID] || !booted(w.properties[d.TransportID]) {
			continue
		}
		open, released := w.bridge.leases(id.Key)
		if open || !released && time.Now().Before(known.next) {
			continue
		}
		w.checking[d.TransportID] = true
		w.asked.Go(func() {
			vitals, err := (bedside{w.bridge.client, d}).readVitals(ctx)
			if err != nil {
				vitals = nil
			}
			select {
			case w.checks <- check{d.TransportID, vitals}:
			case <-ctx.Done():
			}
		})
	}
}

// checked takes what a look has found.
func (w *watch) checked(c check) {
	delete(w.checking, c.transport)
	if _, listed := w.since[c.transport]; !listed {
		return
	}
	known := w.health[c.transport]
	before := known
	if c.vitals == nil {
		known.misses++
		known.next = time.Now().Add(checkAgain)
	} else {
		known.vitals, known.misses, known.next = c.vitals, 0, time.Now().Add(checkEvery)
	}
	w.health[c.transport] = known
	if (before.misses >= tooManyMisses) != (known.misses >= tooManyMisses) || !maps.Equal(before.vitals, known.vitals) {
		w.tell()
	}
}
