package minder

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// follow takes in what the minder tells, until it is gone, and settles the exit.
func (m *Minder) follow() {
	defer close(m.done)
	began := false
	begin := func() {
		if !began {
			began = true
			close(m.begun)
		}
	}
	defer begin()

	var told *Exit
	events := json.NewDecoder(m.events)
	for told == nil {
		var e event
		if events.Decode(&e) != nil {
			break // the minder is gone
		}
		told = e.Exit
		if e.Runner != 0 {
			m.mu.Lock()
			m.runner = e.Runner
			m.mu.Unlock()
			begin()
		}
	}
	_ = m.process.Wait() // how a minder ends says nothing that its exit does not
	_ = m.events.Close()
	_ = m.control.Close()
	switch exit, err := ReadExit(m.spec.ExitPath); {
	case told != nil:
		m.exit = *told
	case err == nil:
		m.exit = exit
	default:
		m.exit = m.lost()
	}
}

// lost sweeps up after a minder that died, and is the exit in its place.
func (m *Minder) lost() Exit {
	exit := Exit{Cause: MinderLost, ExitCode: -1, Detail: "the minder died: " + m.process.ProcessState.String()}
	if runner := m.Runner(); runner != 0 {
		_ = syscall.Kill(-runner, syscall.SIGKILL) // it lived a moment ago: nobody else has its group
	}
	killed, err := Sweep(context.Background(), m.spec.Cookie)
	exit.StrayKilled = killed
	if err != nil {
		exit.StrayLeft = 1 // at least; unknown is not free
		exit.Detail += fmt.Sprintf("; %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.spec.Now()
	switch {
	case m.endCause != "":
		exit.Cause = m.endCause
	case now >= m.deadline:
		exit.Cause = Deadline
	}
	exit.Ended, exit.BootID, exit.Wall = now, boottime.BootID(), time.Now().UTC()
	return exit
}

// overdue is how long after the deadline, or after the end of what was asked, a minder
// may take until the agent kills it: so that even a minder that somebody has stopped
// does not keep a runner alive. It is counted on the clock that stands still while the
// machine sleeps, so that a minder that wakes has its time too.
const overdue = 2500 * time.Millisecond

// backstop kills a minder that does not do what it should have done.
func (m *Minder) backstop() {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var since time.Time
	for {
		select {
		case <-m.done:
			return
		case at := <-ticker.C:
			switch {
			case !m.shouldBeOver():
				since = time.Time{}
			case since.IsZero():
				since = at
			case at.Sub(since) >= overdue:
				_ = m.process.Process.Kill() // and with it the runner; lost does the rest
			}
		}
	}
}

func (m *Minder) shouldBeOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.spec.Now()
	return now >= m.deadline || m.endCause != "" && now >= m.endBy
}
