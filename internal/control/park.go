package control

import (
	"sync"

	"github.com/phonebooth-dev/phonebooth"
)

// parks are the claim requests that wait for an assignment, one a host: a newer one answers the older empty.
type parks struct {
	mu     sync.Mutex
	byHost map[phonebooth.HostID]*park
	owed   map[phonebooth.HostID]bool // hosts that shall renew, and had no request parked when that was known
	closed chan struct{}
	once   sync.Once
}

// park is one waiting request.
type park struct {
	work     chan struct{} // holds one token when an assignment may be there
	renew    chan struct{} // holds one token when the host shall renew
	replaced chan struct{} // closed by a newer request of the host
}

func newParks() *parks {
	return &parks{byHost: map[phonebooth.HostID]*park{}, owed: map[phonebooth.HostID]bool{}, closed: make(chan struct{})}
}

// enter parks a request. What is committed from now on puts a token into its work channel.
func (ps *parks) enter(host phonebooth.HostID) *park {
	p := &park{work: make(chan struct{}, 1), renew: make(chan struct{}, 1), replaced: make(chan struct{})}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if older := ps.byHost[host]; older != nil {
		close(older.replaced)
	}
	ps.byHost[host] = p
	if ps.owed[host] {
		delete(ps.owed, host)
		p.renew <- struct{}{}
	}
	return p
}

// leave ends a park; it reports whether p was still the host's newest.
func (ps *parks) leave(host phonebooth.HostID, p *park) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byHost[host] != p {
		return false
	}
	delete(ps.byHost, host)
	return true
}

// wake tells the hosts of newly assigned attempts.
func (ps *parks) wake(attempts []phonebooth.Attempt) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, a := range attempts {
		if p := ps.byHost[a.HostID]; p != nil && a.State == phonebooth.AttemptAssigned {
			poke(p.work)
		}
	}
}

// hurry tells the hosts of tasks that are to be cancelled to renew, so that a cancellation does not wait for the next
// renewal. It is a courtesy: the renewal carries the request in any case (S10.2).
func (ps *parks) hurry(events []phonebooth.Event) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, e := range events {
		if e.Kind != phonebooth.TaskCancelRequested {
			continue
		}
		if p := ps.byHost[e.HostID]; p != nil {
			poke(p.renew)
		} else {
			ps.owed[e.HostID] = true
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (ps *parks) close() { ps.once.Do(func() { close(ps.closed) }) }
