package control

import (
	"context"
	"errors"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Renew renews leases of the host, each for itself, and answers in the same order (S10). A lease that is not the host's, or
// was never claimed, is lost with reason unknown or not_claimed. An error concerns the whole call: nothing is known then.
func (c *Control) Renew(ctx context.Context, by Caller, host phonebooth.HostID, incarnation int64, leases []phonebooth.LeaseID) ([]lifecycle.Renewal, error) {
	answers := make([]lifecycle.Renewal, len(leases))
	verbs := make([]ledger.Verb, len(leases))
	for i, lease := range leases {
		verbs[i] = c.renew(by, host, incarnation, lease, &answers[i])
	}
	if len(leases) == 0 {
		return answers, c.checkIncarnation(ctx, host, incarnation)
	}
	for i, err := range c.ledger.DoAll(ctx, verbs) {
		switch refusal := (*phonebooth.Error)(nil); {
		case err == nil:
		case errors.As(err, &refusal) && refusal.Code == "lease_unknown":
			answers[i].Lost = "unknown"
		case errors.As(err, &refusal) && refusal.Code == "not_claimed":
			answers[i].Lost = "not_claimed"
		default:
			return nil, answer(err, nil)
		}
		if lost := answers[i].Lost; lost != "" {
			c.opts.ObserveLost(lost)
		}
	}
	return answers, nil
}

func (c *Control) renew(by Caller, host phonebooth.HostID, incarnation int64, lease phonebooth.LeaseID, out *lifecycle.Renewal) ledger.Verb {
	v := verb("renew", by)
	var key phonebooth.AttemptKey
	v.Keys = leaseKeys(lease, &key)
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		l, ok := view.Live(key)
		if !ok {
			return lifecycle.Change{}, ledger.ErrMoved
		}
		if l.Attempt.HostID == host {
			if err := lifecycle.CheckIncarnation(l.Host, incarnation); err != nil {
				return lifecycle.Change{}, err
			}
		}
		change, r, err := lifecycle.Renew(l, host, c.opts.Policy, view.Now)
		*out = r
		if err == nil && r.Lost == "" {
			c.opts.ObserveRenewal(l.Attempt.ExpiresAt.Sub(view.Now))
		}
		return change, err
	}
	return v
}

func (c *Control) checkIncarnation(ctx context.Context, host phonebooth.HostID, incarnation int64) error {
	h, err := c.store.Host(ctx, host)
	if err != nil {
		return answer(err, unknownHost())
	}
	return lifecycle.CheckIncarnation(h, incarnation)
}

// leaseKeys finds the rows around a lease; they never change for it. key is set to its attempt.
func leaseKeys(lease phonebooth.LeaseID, key *phonebooth.AttemptKey) func(context.Context, store.Reader) (store.Keys, error) {
	return func(ctx context.Context, r store.Reader) (store.Keys, error) {
		a, err := r.AttemptOfLease(ctx, lease)
		if err != nil {
			return store.Keys{}, answer(err, unknownLease())
		}
		*key = a.AttemptKey
		return attemptKeys(a), nil
	}
}

// attemptKeys are the rows around an attempt.
func attemptKeys(a phonebooth.Attempt) store.Keys {
	return store.Keys{
		Hosts: []phonebooth.HostID{a.HostID}, Devices: []phonebooth.DeviceID{a.DeviceID},
		Tasks: []phonebooth.TaskID{a.TaskID}, Attempts: []phonebooth.AttemptKey{a.AttemptKey},
	}
}
