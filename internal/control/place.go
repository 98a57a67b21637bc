package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Place carries out a plan of the scheduler, each placement for itself: the error at an index is that placement's refusal.
func (c *Control) Place(ctx context.Context, plan []lifecycle.Placement) []error {
	verbs := make([]ledger.Verb, len(plan))
	for i, p := range plan {
		verbs[i] = c.place(p)
	}
	return c.ledger.DoAll(ctx, verbs)
}

func (c *Control) place(p lifecycle.Placement) ledger.Verb {
	v := verb("place", Caller{Actor: "scheduler"})
	v.Keys = fixed(store.Keys{
		Hosts: []phonebooth.HostID{p.HostID}, Devices: []phonebooth.DeviceID{p.DeviceID}, Tasks: []phonebooth.TaskID{p.TaskID},
	})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		h, ok1 := view.Hosts[p.HostID]
		d, ok2 := view.Devices[p.DeviceID]
		t, ok3 := view.Tasks[p.TaskID]
		switch {
		case !ok1 || !ok2:
			return lifecycle.Change{}, unknownDevice()
		case !ok3:
			return lifecycle.Change{}, unknownTask()
		}
		return lifecycle.Place(p, h, d, view.Reservation(d.ID), t, c.opts.Policy, view.Now)
	}
	return v
}
