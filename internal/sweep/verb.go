package sweep

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// verb is one of the sweep, with keys that are known without a read. It is refused once the sweep's term is over.
func (s *Sweep) verb(name string, keys store.Keys, decide func(ledger.View) (lifecycle.Change, error)) ledger.Verb {
	keys.Leader = true
	term := s.term
	return ledger.Verb{
		Name: name, Actor: "sweep",
		Keys: func(context.Context, store.Reader) (store.Keys, error) { return keys, nil },
		Decide: func(v ledger.View) (lifecycle.Change, error) {
			if err := lifecycle.InTerm(v.Leader, term); err != nil {
				return lifecycle.Change{}, err
			}
			return decide(v)
		},
	}
}

// gone is the answer for rows that are not there any more.
func gone() error { return phonebooth.Errorf(phonebooth.NotFound, "not_due", "it is gone") }

func (s *Sweep) onAttempt(name string, a phonebooth.Attempt, decide func(lifecycle.Live, time.Time) (lifecycle.Change, error)) ledger.Verb {
	keys := store.Keys{
		Hosts: []phonebooth.HostID{a.HostID}, Devices: []phonebooth.DeviceID{a.DeviceID},
		Tasks: []phonebooth.TaskID{a.TaskID}, Attempts: []phonebooth.AttemptKey{a.AttemptKey},
	}
	return s.verb(name, keys, func(view ledger.View) (lifecycle.Change, error) {
		l, ok := view.Live(a.AttemptKey)
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return decide(l, view.Now)
	})
}

func (s *Sweep) onHost(name string, id phonebooth.HostID, decide func(phonebooth.Host, time.Time) (lifecycle.Change, error)) ledger.Verb {
	return s.verb(name, store.Keys{Hosts: []phonebooth.HostID{id}}, func(view ledger.View) (lifecycle.Change, error) {
		h, ok := view.Hosts[id]
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return decide(h, view.Now)
	})
}

func (s *Sweep) timeOutInQueue(id phonebooth.TaskID) ledger.Verb {
	return s.verb("queue_timeout", store.Keys{Tasks: []phonebooth.TaskID{id}}, func(view ledger.View) (lifecycle.Change, error) {
		t, ok := view.Tasks[id]
		if !ok {
			return lifecycle.Change{}, gone()
		}
		return lifecycle.TimeOutInQueue(t, view.Now)
	})
}
