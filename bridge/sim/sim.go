// Package sim is a bridge to devices that are not there: for demos, for tests, and for trying a pool without a phone.
//
// Its devices have driver type sim, are called sim-1, sim-2 and so on, and are ready. Tests script what can go wrong: a
// device that changes its condition, that is unplugged and comes back, that cannot be cleaned. It drives nothing: what
// happens on a simulated device is what its runner pretends.
//
// All methods may be called from any number of goroutines.
package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// DriverType is the driver type of every simulated device.
const DriverType = "sim"

// MaxDevices is how many one bridge can have.
const MaxDevices = phonebooth.MaxDevicesPerHost

// Bridge is a number of simulated devices.
type Bridge struct {
	mu      sync.Mutex
	devices []*device
	changed chan struct{} // closed and replaced with each change
}

type device struct {
	bridge.Device
	unplugged  bool
	generation int // one more each time that it is unplugged
	open       bool
	dirty      int // how many more times Close fails
}

// New makes a bridge with n devices that all have the given tags.
func New(n int, tags ...string) *Bridge {
	b := &Bridge{changed: make(chan struct{})}
	for i := range n {
		name := "sim-" + strconv.Itoa(i+1)
		b.devices = append(b.devices, &device{Device: bridge.Device{
			Key: name, Name: name, DriverType: DriverType, Tags: slices.Clone(tags), Condition: phonebooth.Ready,
		}})
	}
	return b
}

// Open makes a bridge of settings: devices, how many (1 when left out).
func Open(settings bridge.Settings) (bridge.Bridge, error) {
	if err := settings.Only("devices"); err != nil {
		return nil, err
	}
	n := 1
	if text, ok := settings["devices"]; ok {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 0 || n > MaxDevices {
			return nil, fmt.Errorf("devices must be a number from 0 to %d", MaxDevices)
		}
	}
	return New(n), nil
}

// Watch reports the devices at first and after each change.
func (b *Bridge) Watch(ctx context.Context, changed func([]bridge.Device)) error {
	for {
		list, next := b.list()
		changed(list)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}

func (b *Bridge) list() ([]bridge.Device, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []bridge.Device
	for _, d := range b.devices {
		if !d.unplugged {
			seen := d.Device
			seen.Tags = slices.Clone(d.Tags)
			list = append(list, seen)
		}
	}
	return list, b.changed
}

// Open gives access to a ready device, to one holder at a time.
func (b *Bridge) Open(_ context.Context, key string, _ bridge.Lease) (bridge.Access, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.find(key)
	switch {
	case d == nil || d.unplugged || d.Condition != phonebooth.Ready:
		return nil, bridge.ErrGone
	case d.open:
		return nil, errors.New("another lease has the simulated device open")
	}
	d.open = true
	return &access{bridge: b, device: d, generation: d.generation}, nil
}

// SetCondition makes the device say so from now on.
func (b *Bridge) SetCondition(key string, condition phonebooth.Condition, reason string) {
	b.change(key, func(d *device) { d.Condition, d.Reason = condition, reason })
}

// Unplug makes the device disappear; Plug brings it back.
func (b *Bridge) Unplug(key string) {
	b.change(key, func(d *device) { d.unplugged, d.generation = true, d.generation+1 })
}

// Plug brings back a device that was unplugged.
func (b *Bridge) Plug(key string) { b.change(key, func(d *device) { d.unplugged = false }) }

// FailClose lets the next n closings of the device's access fail.
func (b *Bridge) FailClose(key string, n int) { b.change(key, func(d *device) { d.dirty = n }) }

// change changes the device under key, if there is one.
func (b *Bridge) change(key string, change func(*device)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.find(key); d != nil {
		change(d)
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

func (b *Bridge) find(key string) *device {
	at := slices.IndexFunc(b.devices, func(d *device) bool { return d.Key == key })
	if at < 0 {
		return nil
	}
	return b.devices[at]
}

// access is the right to one device until it is unplugged.
type access struct {
	bridge     *Bridge
	device     *device
	generation int
	closed     bool
}

func (a *access) Env() []string { return []string{"SIM_SERIAL=" + a.device.Name} }

func (a *access) Probe(context.Context) error {
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	if a.closed || a.device.unplugged || a.device.generation != a.generation {
		return bridge.ErrGone
	}
	return nil
}

// Cut does nothing: nothing can reach a device that is not there.
func (a *access) Cut() {}

func (a *access) Close(context.Context) error {
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	if a.closed {
		return nil
	}
	if a.device.dirty > 0 {
		a.device.dirty--
		return errors.New("the simulated device would not be cleaned")
	}
	a.closed, a.device.open = true, false
	return nil
}
