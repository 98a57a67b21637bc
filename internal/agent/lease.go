package agent

import (
	"context"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// lease is one attempt in this agent's hands: what it may believe of it, and what must end with it.
type lease struct {
	v1.Assignment
	begun  time.Duration // steady time at which the claim was answered, at the earliest: the task's timeout counts from here
	cookie string        // marks the runner's processes
	dir    string        // for everything that the attempt leaves on the disk
	stop   context.CancelCauseFunc

	// Set by the attempt's own goroutine, stage by stage, and read by it alone.
	device    device          // as it was seen when the lease's hands were laid on it
	hands     bool            // they were
	journaled bool            // the journal has an entry
	touched   bool            // more than the lease itself may be on the device
	lock      *deviceLock     // nil when it was not taken
	barred    func() error    // tries to take the lock that another process held, and gives it back; nil when none did
	ran       bool            // a program may have been started
	strays    []minder.Record // processes of it that would not die
	sending   *sending        // nil when there is nothing to send

	mu      sync.Mutex
	belief  lifecycle.Belief
	fallen  bool           // the fence has come down
	minder  *minder.Minder // of the runner that runs now, or nil
	access  bridge.Access  // nil before it was opened
	spooled bool           // how it ended would survive a crash of the agent
	clean   bool           // nothing of the lease is left on the device
}

// key is the device's.
func (l *lease) key() string { return l.DeviceKey }

// renewed moves the fence, and the minder's deadline with it.
func (l *lease) renewed(sent, fence time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.belief = l.belief.Renewed(sent, fence)
	if l.minder != nil && !l.fallen {
		l.minder.Extend(l.belief.Fence)
	}
}

// fence is the steady time at which driving must stop.
func (l *lease) fence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.belief.Fence
}

// mayDrive reports whether something may be done to the device at now.
func (l *lease) mayDrive(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.fallen && l.belief.MayDrive(now)
}

// end asks whatever runs to end, for the first reason given.
func (l *lease) end(did runner.Did) { l.stop(did) }

// fall brings the fence down: the device cannot be reached any more, and everything of the runner is killed.
func (l *lease) fall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fallen {
		return // what is open since then is not the lease's
	}
	l.fallen = true
	l.stop(runner.Fenced)
	if l.access != nil {
		l.access.Cut()
	}
	if l.minder != nil {
		l.minder.Kill()
	}
}

// hold puts a runner under the fence. It is let go with nil.
func (l *lease) hold(m *minder.Minder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minder = m
	switch {
	case m == nil:
	case l.fallen:
		m.Kill()
	default:
		m.Extend(l.belief.Fence) // it may have moved since the minder was told
	}
}

// opened puts an access under the fence.
func (l *lease) opened(access bridge.Access) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access = access
	if l.fallen {
		access.Cut()
	}
}

// reach is the open access, or nil.
func (l *lease) reach() bridge.Access {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.access
}

// look is how often steady time is compared with the fence: a timer stands still while the machine sleeps.
const look = 250 * time.Millisecond

// watch brings the fence down when its time has come, unless ended comes first.
func (l *lease) watch(now func() time.Duration, ended <-chan struct{}) {
	for l.mayDrive(now()) {
		select {
		case <-ended:
			return
		case <-time.After(min(max(l.fence()-now(), time.Millisecond), look)):
		}
	}
	l.fall()
}

// leases are all that this agent holds, also those whose report was not answered yet.
type leases struct {
	mu   sync.Mutex
	held map[string]*lease
}

// add takes a lease in. It returns false when it is there already.
func (s *leases) add(l *lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.held[l.LeaseID]; ok {
		return false
	}
	if s.held == nil {
		s.held = map[string]*lease{}
	}
	s.held[l.LeaseID] = l
	return true
}

// drop lets a lease go: it is not renewed any more.
func (s *leases) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
}

// all lists the leases.
func (s *leases) all() []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*lease, 0, len(s.held))
	for _, l := range s.held {
		list = append(list, l)
	}
	return list
}

// find is the lease with this id, or nil.
func (s *leases) find(id string) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[id]
}

// task is the lease's attempt, for the log.
func (l *lease) task() []any {
	return []any{"task_id", phonebooth.TaskID(l.Task.ID), "attempt", l.Attempt, "device", l.DeviceKey}
}
