package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Cordon keeps new tasks from a device; what runs on it goes on.
func (c *Control) Cordon(ctx context.Context, by Caller, id phonebooth.DeviceID, reason string) error {
	return c.onDevice(ctx, by, "cordon", id, func(d phonebooth.Device, view ledger.View) lifecycle.Change {
		return lifecycle.Cordon(d, reason, view.Now)
	})
}

// Uncordon ends a cordon or a quarantine.
func (c *Control) Uncordon(ctx context.Context, by Caller, id phonebooth.DeviceID) error {
	return c.onDevice(ctx, by, "uncordon", id, func(d phonebooth.Device, _ ledger.View) lifecycle.Change {
		return lifecycle.Uncordon(d)
	})
}

func (c *Control) onDevice(ctx context.Context, by Caller, name string, id phonebooth.DeviceID, decide func(phonebooth.Device, ledger.View) lifecycle.Change) error {
	v := verb(name, by)
	v.Keys = fixed(store.Keys{Devices: []phonebooth.DeviceID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		d, ok := view.Devices[id]
		if !ok {
			return lifecycle.Change{}, unknownDevice()
		}
		return decide(d, view), nil
	}
	return answer(c.ledger.Do(ctx, v), nil)
}

// Release force-ends the attempt that holds a device. The host is not asked: until it confirms the device, nothing else
// gets it.
func (c *Control) Release(ctx context.Context, by Caller, id phonebooth.DeviceID) error {
	var key phonebooth.AttemptKey
	v := verb("release", by)
	v.Keys = func(ctx context.Context, r store.Reader) (store.Keys, error) {
		if _, err := r.Device(ctx, id); err != nil {
			return store.Keys{}, answer(err, unknownDevice())
		}
		a, err := r.AttemptOnDevice(ctx, id)
		if err != nil {
			return store.Keys{}, answer(err, phonebooth.Errorf(phonebooth.Conflict, "not_reserved", "no attempt holds this device; there is nothing to release"))
		}
		key = a.AttemptKey
		return attemptKeys(a), nil
	}
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		l, ok := view.Live(key)
		if !ok || !l.Attempt.Live() {
			return lifecycle.Change{}, ledger.ErrMoved
		}
		return lifecycle.Release(l, view.Now)
	}
	return answer(c.ledger.Do(ctx, v), nil)
}
