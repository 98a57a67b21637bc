package control

import (
	"context"
	"errors"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Enroll adds a host for a one-time token, given by its hash, whose secret will have secretHash. The same pair again is the
// same host, so that a lost answer costs nothing.
func (c *Control) Enroll(ctx context.Context, by Caller, tokenHash, secretHash, name string) (phonebooth.HostID, error) {
	if !phonebooth.ValidName(name) {
		return "", phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"a host's name must be 1 to 63 letters, digits, dots, underscores and hyphens").With("pointer", "/name")
	}
	token, err := c.store.Token(ctx, tokenHash)
	if err != nil {
		return "", answer(err, badEnrollment())
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return "", answer(err, nil)
	}
	if h, err := c.store.HostOfToken(ctx, secretHash); err == nil && h.ID == token.SpentBy {
		return h.ID, nil
	}
	if token.Kind != "enrollment" || now.After(token.ExpiresAt) {
		return "", badEnrollment()
	}
	if token.Name != "" {
		name = token.Name
	}
	id := enrolledID(tokenHash, secretHash)
	if err := c.store.SpendToken(ctx, tokenHash, id); errors.Is(err, store.ErrConstraint) { // with another secret
		return "", badEnrollment()
	} else if err != nil {
		return "", answer(err, badEnrollment())
	}
	v := verb("enroll", by)
	v.Keys = fixed(store.Keys{Hosts: []phonebooth.HostID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		if _, ok := view.Hosts[id]; ok {
			return lifecycle.Change{}, nil
		}
		return lifecycle.Enroll(id, name, secretHash, view.Now), nil
	}
	return id, answer(c.ledger.Do(ctx, v), nil)
}

func badEnrollment() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unauthenticated, "unauthenticated",
		"the enrollment token is unknown, used or expired; make a new one with `phonebooth host enroll`")
}

// StartRequest is the first call of a life of an agent.
type StartRequest struct {
	StartID  string
	Previous int64
	TakeOver bool
	Version  string
}

// Held is a dispatched lease that the control plane believes a host to hold.
type Held struct {
	Attempt   phonebooth.Attempt
	DeviceKey string
}

// Start begins a new incarnation of a host's agent and tells which leases it is believed to hold (C06, C10).
func (c *Control) Start(ctx context.Context, by Caller, id phonebooth.HostID, req StartRequest) (phonebooth.Host, []Held, error) {
	var h phonebooth.Host
	var held []Held
	v := verb("start", by)
	v.Keys = fixed(store.Keys{Hosts: []phonebooth.HostID{id}, HostAttempts: []phonebooth.HostID{id}})
	v.Decide = func(view ledger.View) (change lifecycle.Change, err error) {
		held = nil
		known, ok := view.Hosts[id]
		if !ok {
			return change, unknownHost()
		}
		change, h, err = lifecycle.Start(known, req.StartID, req.Previous, req.TakeOver, req.Version, view.Now)
		for _, a := range view.Attempts {
			if a.HostID == id && a.State == phonebooth.AttemptDispatched {
				held = append(held, Held{Attempt: a, DeviceKey: view.Devices[a.DeviceID].Key})
			}
		}
		return change, err
	}
	if err := c.ledger.Do(ctx, v); err != nil {
		return phonebooth.Host{}, nil, answer(err, nil)
	}
	return h, held, nil
}

// InventoryAnswer is what a host must know after its inventory: the ids of its devices by key, and the numbers that
// unconfirmed ones must be repeated with, and those that quarantined ones are to be probed under.
type InventoryAnswer struct {
	DeviceIDs map[string]phonebooth.DeviceID
	Confirm   map[string]int64
	Probe     map[string]int64
	Draining  bool
}

// Inventory takes a host's full list of devices; it is also its heartbeat.
func (c *Control) Inventory(ctx context.Context, by Caller, id phonebooth.HostID, word phonebooth.Word, seen []lifecycle.Sighting) (InventoryAnswer, error) {
	var out InventoryAnswer
	if err := validSightings(seen); err != nil {
		return out, err
	}
	v := verb("inventory", by)
	v.Keys = fixed(store.Keys{Hosts: []phonebooth.HostID{id}, HostDevices: []phonebooth.HostID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		out = InventoryAnswer{DeviceIDs: map[string]phonebooth.DeviceID{}, Confirm: map[string]int64{}, Probe: map[string]int64{}}
		h, ok := view.Hosts[id]
		if !ok {
			return lifecycle.Change{}, unknownHost()
		}
		var known []phonebooth.Device
		for _, d := range view.Devices {
			if d.HostID == id {
				known = append(known, d)
			}
		}
		change, err := lifecycle.Inventory(h, word, seen, known, view.Now)
		if err != nil {
			return change, err
		}
		out.Draining = !h.DrainingSince.IsZero()
		for _, d := range append(known, change.Devices...) { // a changed one is in both: the newer state wins
			out.DeviceIDs[d.Key] = d.ID
			if d.Condition == phonebooth.Unconfirmed {
				out.Confirm[d.Key] = d.Confirm
			} else {
				delete(out.Confirm, d.Key)
			}
			if n := lifecycle.ProbeAsked(d, c.opts.Policy, view.Now); n != 0 {
				out.Probe[d.Key] = n
			} else {
				delete(out.Probe, d.Key)
			}
		}
		return change, nil
	}
	if err := c.ledger.Do(ctx, v); err != nil {
		return InventoryAnswer{}, answer(err, nil)
	}
	return out, nil
}

func validSightings(seen []lifecycle.Sighting) error {
	if len(seen) > phonebooth.MaxDevicesPerHost {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "a host has at most %d devices", phonebooth.MaxDevicesPerHost).With("pointer", "/devices")
	}
	keys := make(map[string]bool, len(seen))
	for _, s := range seen {
		if s.Key == "" || keys[s.Key] {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "every device of an inventory needs a key of its own").With("pointer", "/devices")
		}
		keys[s.Key] = true
		if s.Condition == phonebooth.Unconfirmed {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "unconfirmed is the control plane's own condition").With("pointer", "/devices")
		}
		if err := phonebooth.ValidTags("/devices/tags", s.Tags); err != nil {
			return err
		}
	}
	return nil
}
