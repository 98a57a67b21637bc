package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Pool is every host that was not removed, its devices, and what holds them.
type Pool struct {
	Devices      []phonebooth.Device
	Hosts        map[phonebooth.HostID]phonebooth.Host
	Reservations map[phonebooth.DeviceID]phonebooth.Reservation
}

// Pool reads the whole pool.
func (c *Control) Pool(ctx context.Context) (Pool, error) {
	p := Pool{Hosts: map[phonebooth.HostID]phonebooth.Host{}, Reservations: map[phonebooth.DeviceID]phonebooth.Reservation{}}
	hosts, err := c.store.Hosts(ctx)
	if err != nil {
		return p, answer(err, nil)
	}
	for _, h := range hosts {
		if h.RemovedAt.IsZero() {
			p.Hosts[h.ID] = h
		}
	}
	devices, err := c.store.Devices(ctx)
	if err != nil {
		return p, answer(err, nil)
	}
	for _, d := range devices {
		if _, ok := p.Hosts[d.HostID]; ok {
			p.Devices = append(p.Devices, d)
		}
	}
	reservations, err := c.store.Reservations(ctx)
	for _, r := range reservations {
		p.Reservations[r.DeviceID] = r
	}
	return p, answer(err, nil)
}

// Drain lets what runs on a host end and starts nothing new on it.
func (c *Control) Drain(ctx context.Context, by Caller, id phonebooth.HostID) error {
	return c.onHost(ctx, by, "drain", store.Keys{Hosts: []phonebooth.HostID{id}}, id, func(h phonebooth.Host, view ledger.View) (lifecycle.Change, error) {
		return lifecycle.Drain(h, view.Now), nil
	})
}

// Resume ends a drain.
func (c *Control) Resume(ctx context.Context, by Caller, id phonebooth.HostID) error {
	return c.onHost(ctx, by, "resume", store.Keys{Hosts: []phonebooth.HostID{id}}, id, func(h phonebooth.Host, _ ledger.View) (lifecycle.Change, error) {
		return lifecycle.Resume(h), nil
	})
}

// RemoveHost takes a host out of the pool for ever; refused while one of its devices holds a task.
func (c *Control) RemoveHost(ctx context.Context, by Caller, id phonebooth.HostID) error {
	keys := store.Keys{Hosts: []phonebooth.HostID{id}, HostAttempts: []phonebooth.HostID{id}}
	return c.onHost(ctx, by, "remove_host", keys, id, func(h phonebooth.Host, view ledger.View) (lifecycle.Change, error) {
		held := 0
		for _, a := range view.Attempts {
			if a.HostID == id && a.Live() {
				held++
			}
		}
		return lifecycle.Remove(h, held, view.Now)
	})
}

func (c *Control) onHost(ctx context.Context, by Caller, name string, keys store.Keys, id phonebooth.HostID, decide func(phonebooth.Host, ledger.View) (lifecycle.Change, error)) error {
	v := verb(name, by)
	v.Keys = fixed(keys)
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		h, ok := view.Hosts[id]
		if !ok {
			return lifecycle.Change{}, unknownHost()
		}
		return decide(h, view)
	}
	return answer(c.ledger.Do(ctx, v), nil)
}
