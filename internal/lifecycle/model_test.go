package lifecycle

import (
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// world is a whole system in miniature: a database that is changed by this package's functions only, machines with phones,
// the agents on them, and a network that delays, repeats, loses and reorders. Every agent counts by its own clock. A script
// of [op] drives it; after each step [world.check] asks what was promised.
//
// The store's clock is the model's true time. A runner that is being killed goes on driving for the whole kill time.
type world struct {
	faults   faults
	locks    bool // agents look at their device locks before they start something
	now      time.Duration
	db       *database
	ref      *reference
	machines []*machine
	net      []func() // messages on their way
	parked   []claimCall
	changed  bool // the database, since the last check
	drawn    int  // leases, tasks, claims, starts

	only   promise // when set, the others are not watched
	broken promise // the first promise that did not hold
	how    string
}

// promise is what the model checks.
type promise string

const (
	kept       promise = ""
	promiseRow promise = "rows"  // constraints of the database, and the reference model
	promiseOne promise = "drive" // no two attempts have their hands on one device
	// The two lines of defence. Each alone is enough for promiseOne.
	promiseLease promise = "lease" // whatever the host says: an attempt that has ended is not driven
	promiseWord  promise = "word"  // whatever the leases say: a device that is a candidate has nobody's hands on it
)

// faults are planted in the model around the production code.
type faults struct {
	claimAtReceipt   bool // a claim is counted from its answer's receipt
	renewalAtReceipt bool
	parkedLate       bool // the time parked is taken 5 s after the time for which the lease was counted
	fullReplay       bool // a repeated claim is answered with the full lease
	noGrace          bool // dispatched leases are swept at their expiry
	readyDirty       bool // ready is said before cleaning ended
	readyBlind       bool // ready is said whatever is on the device
	olderInventory   bool // an inventory is taken as the newest word, however old
	unasked          bool // an unconfirmed device comes back without its number
	giveBackAlive    bool // a restarted agent gives back what its predecessor's runner still drives
	giveBackForeign  bool // an agent that took over may give back the older one's leases
}

func newWorld(f faults, locks bool) *world {
	w := &world{faults: f, locks: locks, db: newDatabase(), ref: newReference()}
	for i, phones := range []int{2, 1} {
		m := &machine{w: w, id: phonebooth.HostID(fmt.Sprintf("host_%d", i)), ids: map[string]phonebooth.DeviceID{}}
		for p := range phones {
			key := fmt.Sprintf("usb:%d", p)
			m.keys, m.ids[key] = append(m.keys, key), phonebooth.DeviceIDOf(m.id, key)
		}
		w.machines = append(w.machines, m)
		w.apply(Enroll(m.id, string(m.id), "", w.time()))
		m.newAgent().start(false)
	}
	return w
}

// time is the store's clock.
func (w *world) time() time.Time { return epoch.Add(w.now) }

func (w *world) next(prefix string) string {
	w.drawn++
	return fmt.Sprintf("%s_%d", prefix, w.drawn)
}

// breaks notes that p does not hold.
func (w *world) breaks(p promise, format string, args ...any) {
	if w.broken == kept && (w.only == kept || w.only == p) {
		w.broken, w.how = p, fmt.Sprintf("at %v: ", w.now)+fmt.Sprintf(format, args...)
	}
}

func (w *world) send(message func()) { w.net = append(w.net, message) }

func (w *world) apply(c Change) {
	w.changed = true
	if err := w.db.apply(c); err != nil {
		w.breaks(promiseRow, "%v", err)
	}
}

func (w *world) advance(d time.Duration) {
	w.now += d
	for _, m := range w.machines {
		for _, a := range m.agents {
			a.steady += time.Duration(float64(d) * a.rate)
		}
	}
}

// check asks after every step what was promised.
func (w *world) check() {
	if w.changed {
		w.changed = false
		if diff := w.ref.differs(w.db); diff != "" {
			w.breaks(promiseRow, "the reference model says otherwise: %s", diff)
		}
	}
	for _, m := range w.machines {
		h := w.db.hosts[m.id]
		for _, key := range m.keys {
			on := m.handsOn(key)
			for _, r := range on {
				a := w.db.attempts[r.key]
				if r.driving() && !a.Live() && a.Ending != phonebooth.EndedReleased {
					w.breaks(promiseLease, "attempt %v ended (%s) while it is driven", r.key, a.Ending)
				}
			}
			if len(on) > 1 {
				w.breaks(promiseOne, "attempts %v and %v on %s of %s", on[0].key, on[1].key, key, m.id)
			}
			d, ok := w.db.devices[m.ids[key]]
			if ok && len(on) > 0 && w.db.attempts[on[0].key].Ending != phonebooth.EndedReleased &&
				d.Available(h, w.db.reservation(d.ID)) == phonebooth.Available {
				w.breaks(promiseWord, "%s of %s is a candidate with attempt %v on it", key, m.id, on[0].key)
			}
		}
	}
}

// machine is a host with its phones. Its agents are one, and those that took over from it with a copy of its identity.
type machine struct {
	w      *world
	id     phonebooth.HostID
	keys   []string
	ids    map[string]phonebooth.DeviceID // by key
	agents []*agent
}

// handsOn lists the attempts that have something on a phone: a runner, or cleaning that has not ended. A superseded agent's
// cleaning does not count: nobody but itself can know of it, and it stops when it is told.
func (m *machine) handsOn(key string) []*run {
	var on []*run
	for _, a := range m.agents {
		for _, r := range a.runs {
			if r.device == key && (r.driving() || r.dirty && a == m.newest()) {
				on = append(on, r)
			}
		}
	}
	return on
}

func (m *machine) newest() *agent { return m.agents[len(m.agents)-1] }

// newAgent begins with the slowest clock, the one that endangers.
func (m *machine) newAgent() *agent {
	a := &agent{m: m, w: m.w, rate: 1 / RateSpread, confirm: map[string]int64{}}
	m.agents = append(m.agents, a)
	return a
}
