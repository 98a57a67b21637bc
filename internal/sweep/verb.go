package sweep

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// start begins a verb of the sweep with keys that are known without a read.
func start(name string, keys store.Keys) ledger.Verb {
	return ledger.Verb{Name: name, Actor: "sweep", Keys: func(context.Context, store.Reader) (store.Keys, error) { return keys, nil }}
}

// gone is the answer for rows that are not there any more.
func gone() error { return phonebooth.Errorf(phonebooth.NotFound, "not_due", "it is gone") }

func onAttempt(name string, a phonebooth.Attempt, decide func(lifecycle.Live, time.Time) (lifecycle.Change, error)) ledger.Verb {
	v := start(name, store.Keys{
		Hosts: []phonebooth.HostID{a.HostID}, Devices: []phonebooth.DeviceID{a.DeviceID},
		Tasks: []phonebooth.TaskID{a.TaskID}, Attempts: []phonebooth.AttemptKey{a.AttemptKey},
	})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		l, ok := view.Live(a.AttemptKey)
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return decide(l, view.Now)
	}
	return v
}

func onHost(name string, id phonebooth.HostID, decide func(phonebooth.Host, time.Time) (lifecycle.Change, error)) ledger.Verb {
	v := start(name, store.Keys{Hosts: []phonebooth.HostID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		h, ok := view.Hosts[id]
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return decide(h, view.Now)
	}
	return v
}

func timeOutInQueue(id phonebooth.TaskID) ledger.Verb {
	v := start("queue_timeout", store.Keys{Tasks: []phonebooth.TaskID{id}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		t, ok := view.Tasks[id]
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return lifecycle.TimeOutInQueue(t, view.Now)
	}
	return v
}
