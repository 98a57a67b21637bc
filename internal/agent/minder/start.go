package minder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// Minder is the agent's side of a minder process.
type Minder struct {
	spec    Spec
	record  Record
	process *exec.Cmd
	control *os.File
	events  *os.File

	begun chan struct{} // closed when the runner has started, or will not
	done  chan struct{} // closed when the minder is gone and exit is set
	exit  Exit

	mu       sync.Mutex // guards what follows, and the order of what is sent
	runner   int
	deadline time.Duration
	endBy    time.Duration // after Stop or Kill: when everything should be over; 0 before
	endCause Cause         // what was asked for: Stopped, Killed or nothing
}

// Start starts a minder and lets it start the runner. A runner that cannot be started
// is no error: Wait tells of it. ctx is for the start alone; if it ends before the
// runner runs, Start kills and returns its error. The minder must be waited for.
func Start(ctx context.Context, spec Spec) (*Minder, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("start minder: %w", err)
	}
	if spec.Now == nil {
		spec.Now = boottime.Now
	}
	if err := os.Remove(spec.ExitPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("start minder: remove the older exit file: %w", err)
	}
	m := &Minder{
		spec: spec, deadline: spec.Deadline,
		begun: make(chan struct{}), done: make(chan struct{}),
	}
	if err := m.spawn(); err != nil {
		return nil, fmt.Errorf("start minder: %w", err)
	}
	// The record comes first: once the order is sent the runner may run.
	if err := m.journal(); err != nil {
		_ = m.control.Close()
		_ = m.events.Close()
		_ = m.process.Wait() // without an order a minder ends at the pipe's end
		return nil, fmt.Errorf("start minder: %w", err)
	}
	go m.follow()   // until the minder is gone; Wait waits for it
	go m.backstop() // until then, too
	m.send(command{Do: doRun, Order: orderOf(spec)}, orderLimit)

	select {
	case <-m.begun:
		return m, nil
	case <-ctx.Done():
		m.Kill()
		<-m.done
		return nil, fmt.Errorf("start minder: %w", ctx.Err())
	}
}

// spawn starts the process, which waits for its order.
func (m *Minder) spawn() error {
	c := m.spec.Command
	if c.Path == "" {
		path, err := ownBinary()
		if err != nil {
			return fmt.Errorf("find this binary: %w", err)
		}
		c.Path = path
	}
	if c.Args == nil {
		c.Args = []string{Verb}
	}
	commands, control, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the control pipe: %w", err)
	}
	defer func() { _ = commands.Close() }()
	events, tell, err := os.Pipe()
	if err != nil {
		_ = control.Close()
		return fmt.Errorf("make the event pipe: %w", err)
	}
	defer func() { _ = tell.Close() }()

	m.control, m.events = control, events
	m.process = &exec.Cmd{
		Path:        c.Path,
		Args:        append([]string{"phonebooth"}, c.Args...),
		Env:         c.Env,
		Stdin:       commands,
		Stderr:      os.Stderr,
		ExtraFiles:  []*os.File{tell},                   // eventFD
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of the reach of the terminal's signals
	}
	if m.spec.Lock != nil {
		m.process.ExtraFiles = append(m.process.ExtraFiles, m.spec.Lock)
	}
	if err := m.process.Start(); err != nil {
		_ = control.Close()
		_ = events.Close()
		return fmt.Errorf("start %s: %w", c.Path, err)
	}
	return nil
}

func (m *Minder) journal() error {
	pid := m.process.Process.Pid
	p, found := lookUp(pid)
	if !found {
		return fmt.Errorf("minder %d ended at once", pid)
	}
	m.record = Record{PID: pid, Start: p.start, BootID: boottime.BootID(), Cookie: m.spec.Cookie}
	if m.spec.Journal == nil {
		return nil
	}
	if err := m.spec.Journal(m.record); err != nil {
		return fmt.Errorf("write it down: %w", err)
	}
	return nil
}

// Record is what was given to Spec.Journal.
func (m *Minder) Record() Record { return m.record }

// PID is the process id of the minder.
func (m *Minder) PID() int { return m.record.PID }

// Runner is the process id of the runner, and of its process group; 0 if it never ran.
func (m *Minder) Runner() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runner
}

// Extend replaces the deadline by another one, later or earlier. It has no effect once
// the old one has passed.
func (m *Minder) Extend(deadline time.Duration) {
	m.mu.Lock()
	m.deadline = deadline
	m.mu.Unlock()
	m.send(command{Do: doDeadline, At: deadline}, sendLimit)
}

// Stop begins to walk down the ladder, and returns at once. The deadline still holds.
func (m *Minder) Stop() {
	l := m.spec.Ladder
	m.ending(Stopped, l.Grace+l.TermGrace)
	m.send(command{Do: doStop}, sendLimit)
}

// Kill kills everything now, and returns at once.
func (m *Minder) Kill() {
	m.ending(Killed, 0)
	m.send(command{Do: doKill}, sendLimit)
}

func (m *Minder) ending(cause Cause, within time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.endCause == Killed {
		return
	}
	m.endBy, m.endCause = m.spec.Now()+within, cause
}

// Wait returns how the runner ended, when nothing of it is left or what is left is
// counted in StrayLeft. It may be called any number of times. Its error is ctx's.
func (m *Minder) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-m.done:
		return m.exit, nil
	default:
	}
	select {
	case <-m.done:
		return m.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("wait for the runner's end: %w", ctx.Err())
	}
}

const (
	// sendLimit is how long a minder may leave its control pipe full.
	sendLimit = time.Second
	// orderLimit is the same for the order, which is larger than a pipe may be and waits
	// for the process to start.
	orderLimit = 15 * time.Second
)

// send passes on a command. There is nobody to tell if it does not arrive: a minder
// that is gone is reported by follow, and one that is stuck finds its agent gone.
func (m *Minder) send(c command, limit time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.control.SetWriteDeadline(time.Now().Add(limit))
	if json.NewEncoder(m.control).Encode(c) != nil {
		_ = m.control.Close() // half a command may have gone; nothing can follow it
	}
}
