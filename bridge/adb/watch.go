package adb

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// askAgain is the pause before a device is asked again that did not answer, or that had not booted.
const askAgain = 2 * time.Second

// arrival is how long a phone on the network may be offline at first before it is shown so.
const arrival = 5 * time.Second

// watch is what one call of Watch knows. It belongs to one goroutine.
type watch struct {
	bridge  *Bridge
	changed func([]bridge.Device)
	answers chan answer
	asked   sync.WaitGroup

	listed     []wire.Device
	properties map[uint64]map[string]string // by transport id; kept as long as it is listed
	asking     map[uint64]bool
	told       bool                 // a list was reported
	tried      map[uint64]bool      // transports that were asked once, whatever came of it
	since      map[uint64]time.Time // each transport was listed first
	arriving   bool                 // a phone was kept back because it may still be connecting
	health     map[uint64]health    // by transport id
	checking   map[uint64]bool
	checks     chan check
	conflict   string // of the server with the host's adb program, for people; "" when there is none
	compared   chan versions
	comparing  bool
	compare    time.Time // when to compare versions again
	identities []wire.Identity
}

// answer is what a device said of itself; nil when it said nothing.
type answer struct {
	transport  uint64
	properties map[string]string
}

// Watch follows the server until ctx ends.
func (b *Bridge) Watch(ctx context.Context, changed func([]bridge.Device)) error {
	w := &watch{
		bridge: b, changed: changed, answers: make(chan answer), properties: map[uint64]map[string]string{}, asking: map[uint64]bool{},
		tried: map[uint64]bool{}, since: map[uint64]time.Time{},
		health: map[uint64]health{}, checking: map[uint64]bool{}, checks: make(chan check), compared: make(chan versions),
	}
	lists := make(chan []wire.Device)
	tracked := make(chan error, 1)
	go func() {
		tracked <- b.client.Track(ctx, func(list []wire.Device) {
			select {
			case lists <- list:
			case <-ctx.Done():
			}
		})
	}()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	defer w.asked.Wait()
	for {
		select {
		case err := <-tracked:
			return err
		case list := <-lists:
			w.list(list)
			w.tell()
			w.ask(ctx, false)
			w.compareVersions(ctx)
		case a := <-w.answers:
			delete(w.asking, a.transport)
			news := !w.tried[a.transport]
			w.tried[a.transport] = true
			if a.properties != nil && !maps.Equal(a.properties, w.properties[a.transport]) {
				w.properties[a.transport], news = a.properties, true
			}
			if news {
				w.tell()
			}
			w.check(ctx)
		case c := <-w.checks:
			w.checked(c)
		case v := <-w.compared:
			w.versions(v)
		case <-b.freed:
			w.check(ctx)
		case <-again.C:
			if w.arriving {
				w.tell()
			}
			w.ask(ctx, true)
			w.check(ctx)
			w.compareVersions(ctx)
		}
	}
}

// list takes the server's list and forgets what is known of transports that are not in it.
func (w *watch) list(list []wire.Device) {
	w.listed = list
	there := map[uint64]bool{}
	for _, d := range list {
		there[d.TransportID] = true
	}
	maps.DeleteFunc(w.properties, func(id uint64, _ map[string]string) bool { return !there[id] })
	maps.DeleteFunc(w.health, func(id uint64, _ health) bool { return !there[id] })
	maps.DeleteFunc(w.tried, func(id uint64, _ bool) bool { return !there[id] })
	maps.DeleteFunc(w.since, func(id uint64, _ time.Time) bool { return !there[id] })
	for id := range there {
		if _, known := w.since[id]; !known {
			w.since[id] = time.Now()
		}
	}
}

// ask asks ready devices what they are: those that were never asked, and later those that gave no answer or had not booted.
func (w *watch) ask(ctx context.Context, later bool) {
	for _, d := range w.listed {
		known, told := w.properties[d.TransportID]
		if !d.State.Ready() || w.asking[d.TransportID] || told && (!later || booted(known)) {
			continue
		}
		w.asking[d.TransportID] = true
		w.asked.Go(func() {
			properties, err := w.bridge.client.Properties(ctx, d)
			if err != nil {
				properties = nil // it is asked again
			}
			select {
			case w.answers <- answer{d.TransportID, properties}:
			case <-ctx.Done():
			}
		})
	}
}

// tell works out which devices there are and reports them.
func (w *watch) tell() {
	seen := make([]wire.Sighting, len(w.listed))
	for i, d := range w.listed {
		seen[i] = wire.Sighting{Device: d, Properties: w.properties[d.TransportID]}
	}
	w.identities = wire.Identify(seen, w.identities)
	nameless := false
	w.arriving = false
	var phones []phone
	var devices []bridge.Device
	for _, id := range w.identities {
		// Under another name than its own it would be a phone that is never seen again.
		switch first := id.Transports[0]; {
		case id.Provisional && first.State.Ready() && !w.tried[first.TransportID]:
			nameless = true // it is being asked
			continue
		case id.Provisional && first.Network() && first.State == wire.StateOffline && time.Since(w.since[first.TransportID]) < arrival:
			w.arriving = true // adb says so of one that is connecting
			continue
		}
		p := phone{Identity: id, properties: w.properties[id.Transports[0].TransportID], health: w.health[id.Transports[0].TransportID]}
		d := p.device(w.listed)
		if w.conflict != "" {
			d.Attributes[attrConflict] = w.conflict
		}
		d.Lock = w.bridge.client.Address().String() + " " + d.Key
		phones, devices = append(phones, p), append(devices, d)
	}
	w.bridge.list(phones, w.listed)
	if w.told || !nameless { // the first list waits for them: it would say that known phones are gone
		w.told = true
		w.changed(devices)
	}
}
