package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// pool is what the agent knows of its host's devices: what bridges see and what hands are on them. What it says of them is
// numbered, in the order in which it was true.
type pool struct {
	mu      sync.Mutex
	devices map[string]*device
	seq     int64
	confirm map[string]int64 // what the last inventory's answer asked to repeat, by key
	full    bool             // no room on the disk: nothing new can be run
	changed chan struct{}    // gets a token when there is news for the control plane
	grown   chan struct{}    // gets a token when more work may be taken
}

// device is one device of the host.
type device struct {
	key     string // the bridge's name, a colon, the bridge's key
	bridge  string
	seen    bridge.Device // as its bridge last saw it
	present bool          // the bridge sees it now
	hands   lifecycle.Hands
	holder  string // the lease whose hands are on it; "" when there is none
	parting bool   // the holder's report, which says that the device is ready, is on its way: the next lease may come
	trouble string // why it cannot be put in order; "" when there is no such trouble
	probing probing
	slot    int
	told    phonebooth.Condition // what was last said of it; "" when that is not known to have arrived
}

func newPool() *pool {
	return &pool{devices: map[string]*device{}, changed: make(chan struct{}, 1), grown: make(chan struct{}, 1)}
}

// keyOf is a device's key on its host.
func keyOf(bridgeName, key string) string { return bridgeName + ":" + key }

// maxKey is how long a device's key may be on the wire.
const maxKey = 255

// see takes a bridge's full list.
func (p *pool) see(bridgeName string, list []bridge.Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := map[string]bool{}
	for key, d := range p.devices {
		gone[key] = d.bridge == bridgeName && d.present
	}
	news := false
	for _, seen := range list {
		key := keyOf(bridgeName, seen.Key)
		if len(key) > maxKey {
			continue // it cannot be told of
		}
		d := p.at(key)
		news = news || !d.present || !same(d.seen, seen)
		d.bridge, d.seen, d.present = bridgeName, seen, true
		delete(gone, key)
	}
	for key, left := range gone {
		if left {
			p.devices[key].present, news = false, true
			p.forget(key)
		}
	}
	p.tell(news)
}

// same reports whether two sightings say the same about what a device is.
func same(a, b bridge.Device) bool {
	return a.Name == b.Name && a.DriverType == b.DriverType && a.Reason == b.Reason && a.Condition == b.Condition &&
		slices.Equal(a.Tags, b.Tags) && maps.Equal(a.Attributes, b.Attributes)
}

// at is the device with this key, which is added when it is not there.
func (p *pool) at(key string) *device {
	if d, ok := p.devices[key]; ok {
		return d
	}
	taken := map[int]bool{}
	for _, d := range p.devices {
		taken[d.slot] = true
	}
	d := &device{key: key}
	d.bridge, _, _ = strings.Cut(key, ":")
	for taken[d.slot] {
		d.slot++
	}
	p.devices[key] = d
	return d
}

// forget drops a device that is not there and on which no hands are.
func (p *pool) forget(key string) {
	if d, ok := p.devices[key]; ok && !d.present && d.hands.MaySayReady() && d.trouble == "" {
		delete(p.devices, key)
	}
}

// take lays a lease's hands on a device. ok is false when other hands are on it; those of a lease whose report has said that
// the device is ready are none, because the next assignment may be faster than the answer to that report. The device need
// not be there.
func (p *pool) take(key, lease string) (seen device, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.at(key)
	if !d.without(d.parting).MaySayReady() || d.trouble != "" {
		return *d, false
	}
	d.hands.Lease, d.holder, d.parting = true, lease, false
	return *d, true
}

// without is the hands on d but, if reported, for the lease itself.
func (d *device) without(reported bool) lifecycle.Hands {
	hands := d.hands
	hands.Lease = hands.Lease && !reported
	return hands
}

// handle changes what hands are on a device.
func (p *pool) handle(key string, change func(*lifecycle.Hands)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.at(key).hands)
	p.forget(key)
	p.tell(false)
}

// release ends a lease's hands after its report was answered. accepted says that the word in the report counts.
func (p *pool) release(key, lease string, accepted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.at(key)
	if d.holder == lease {
		d.hands.Lease, d.holder, d.parting = false, "", false
	}
	if !accepted {
		d.told = ""
	}
	p.forget(key)
	p.tell(false)
}

// setTrouble says why a device cannot be put in order, or with "" that it can.
func (p *pool) setTrouble(key, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at(key).trouble = why
	p.forget(key)
	p.tell(false)
}

// setFull says whether there is no room on the disk. It reports whether that is news.
func (p *pool) setFull(full bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.full != full
	p.full = full
	p.tell(news)
	return news
}

// isFull reports whether there is no room on the disk.
func (p *pool) isFull() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full
}

// capacity is how many assignments may be asked for: one a device that no lease holds, ready or not, because one that was
// assigned before it left is better given back than left to expire. At least one, but none while there is no room.
func (p *pool) capacity() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full {
		return 0
	}
	n := 0
	for _, d := range p.devices {
		if d.present && !d.hands.Lease {
			n++
		}
	}
	return min(max(n, 1), phonebooth.MaxDevicesPerHost)
}

// tell wakes the loops: that of claims always, that of inventories when a condition differs from what was last said. That a
// lease is on a device is no news: the control plane knows.
func (p *pool) tell(news bool) {
	for _, d := range p.devices {
		now, _ := p.condition(d, d.hands)
		news = news || d.present && now != d.told && now != phonebooth.Leased
	}
	if news {
		poke(p.changed)
	}
	poke(p.grown)
}

// condition is what is true of d with such hands on it, and why.
func (p *pool) condition(d *device, hands lifecycle.Hands) (phonebooth.Condition, string) {
	switch {
	case d.trouble != "":
		return phonebooth.Unhealthy, d.trouble
	case d.seen.Condition != phonebooth.Ready:
		return cmp.Or(d.seen.Condition, phonebooth.Offline), d.seen.Reason
	case hands.Lease:
		return phonebooth.Leased, ""
	case !hands.MaySayReady():
		return phonebooth.Cleaning, ""
	case p.full:
		return phonebooth.Unhealthy, "its host's disk has no room"
	}
	return phonebooth.Ready, ""
}

// poke puts a token into a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
