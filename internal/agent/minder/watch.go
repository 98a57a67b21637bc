package minder

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// look is how often lease time is compared with the deadline at the least: a timer
// alone would stand still while the machine sleeps.
const look = 250 * time.Millisecond

// watch is the minder's view of its runner. Everything happens in one goroutine, so a
// signal is never sent to a process that has been waited for.
type watch struct {
	spec     Spec
	now      func() time.Duration
	commands <-chan command // nil once the agent is gone
	asked    <-chan os.Signal
	children <-chan os.Signal

	runner   int
	started  time.Duration
	deadline time.Duration

	ladder  []rung // what Stop has still to do; the first rung falls due at rungDue
	rungDue time.Duration
	stopped bool

	killing Cause // not empty: everything of the runner is being killed, for this
	detail  string
	hunt    *hunt
}

// rung is one step of the stop ladder.
type rung struct {
	signal syscall.Signal
	grace  time.Duration // until the next
}

// attend watches over the runner until nothing of it is left.
func (w *watch) attend() *Exit {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if status, ended := w.reap(); ended {
			return w.conclude(status)
		}
		w.enforce()
		timer.Reset(w.untilLook())
		select {
		case c, open := <-w.commands:
			// The agent may have been asleep when it sent this: what has passed has passed.
			w.enforce()
			w.obey(c, open)
		case s := <-w.asked:
			w.kill(Signaled, "the minder was sent "+unix.SignalName(s.(syscall.Signal)))
		case <-w.children:
		case <-timer.C:
		}
	}
}

// untilLook is how long the loop may wait for something to happen.
func (w *watch) untilLook() time.Duration {
	wait := w.deadline - w.now()
	if len(w.ladder) > 0 {
		wait = min(wait, w.rungDue-w.now())
	}
	if w.killing != "" {
		wait = look
	}
	return min(max(wait, time.Millisecond), look)
}

func (w *watch) obey(c command, open bool) {
	switch {
	case !open:
		w.commands = nil
		w.kill(AgentGone, "")
	case c.Do == doDeadline:
		w.deadline = c.At
	case c.Do == doStop:
		w.stop()
	case c.Do == doKill:
		w.kill(Killed, "")
	}
}

// stop sets the ladder up, once.
func (w *watch) stop() {
	if w.stopped {
		return
	}
	w.stopped = true
	l := w.spec.Ladder
	if l.First != 0 {
		w.ladder = append(w.ladder, rung{l.First, l.Grace})
	}
	w.ladder = append(w.ladder, rung{syscall.SIGTERM, l.TermGrace}, rung{syscall.SIGKILL, 0})
	w.rungDue = w.now()
}

// enforce does whatever has fallen due by the clock.
func (w *watch) enforce() {
	now := w.now()
	if now >= w.deadline {
		w.kill(Deadline, "")
	}
	for len(w.ladder) > 0 && now >= w.rungDue && w.killing == "" {
		due := w.ladder[0]
		w.ladder = w.ladder[1:]
		if due.signal == syscall.SIGKILL {
			w.kill(Stopped, "")
			break
		}
		_ = syscall.Kill(-w.runner, due.signal) // it may just have ended
		w.rungDue = now + due.grace
	}
	if w.killing != "" {
		_, _ = w.hunt.strike() // again, for what was missed; the end of it is judged by conclude
	}
}

// kill ends everything at once. The first cause stands.
func (w *watch) kill(cause Cause, detail string) {
	if w.killing != "" {
		return
	}
	w.killing, w.detail = cause, detail
	if table, err := processTable(); err == nil {
		ours := w.family(table)
		for _, p := range table { // counted before they are dead
			if ours(p) && !p.dead {
				w.hunt.killed[p.identity] = true
			}
		}
	}
	_ = syscall.Kill(-w.runner, syscall.SIGKILL) // all of the group in one moment
	_, _ = w.hunt.strike()
}

// family tells which processes are the runner's by descent.
func (w *watch) family(table []process) func(process) bool {
	ours := descendants(table, os.Getpid())
	return func(p process) bool {
		return ours[p.pid] || groupOnly && p.group == w.runner
	}
}

// quarry finds the runner's processes by descent and by cookie.
func (w *watch) quarry(table []process) []process {
	ours := w.family(table)
	var found []process
	for _, p := range table {
		if ours(p) || cookieOf(p.pid) == w.spec.Cookie {
			found = append(found, p)
		}
	}
	return found
}

// reap waits for every child that has ended, without blocking, and tells how the
// runner ended if it was among them.
func (w *watch) reap() (runner syscall.WaitStatus, ended bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid == 0:
			return runner, ended
		case pid == w.runner:
			runner, ended = status, true
		}
	}
}

// hearsay is how long the end of an agent may take to be heard of here after a runner has noticed it.
const hearsay = 50 * time.Millisecond

// agentGone reports whether the agent has died.
func (w *watch) agentGone() bool {
	late := time.After(hearsay)
	for w.commands != nil {
		select {
		case _, open := <-w.commands: // no command matters to a runner that has ended
			if !open {
				w.commands = nil
			}
		case <-late:
			return false
		}
	}
	return true
}

// judge says how the runner ended.
func (w *watch) judge(status syscall.WaitStatus) Exit {
	e := Exit{Cause: Exited, ExitCode: -1, Detail: w.detail}
	switch {
	case status.Exited():
		// Also when a SIGKILL was on its way: it had ended before, and its result counts.
		e.ExitCode = status.ExitStatus()
		switch {
		case w.stopped:
			e.Cause = Stopped
		case e.ExitCode != 0 && w.agentGone():
			// Its way to the device ended with the agent. A runner that is quicker to fail for that than to be killed has not
			// failed by itself.
			e.Cause = AgentGone
		}
	default:
		e.Signal = unix.SignalName(status.Signal())
		switch {
		case w.killing != "":
			e.Cause = w.killing
		case w.stopped:
			e.Cause = Stopped
		default:
			e.Cause = Signaled
		}
	}
	return e
}

// conclude judges the runner's end and kills what outlived it.
func (w *watch) conclude(status syscall.WaitStatus) *Exit {
	e := w.judge(status)
	left, err := w.hunt.run(context.Background(), minderLimit, func() { _, _ = w.reap() })
	if err != nil {
		left = max(left, 1) // unknown is not free
	}
	e.StrayLeft = left
	for _, p := range w.hunt.left {
		e.Strays = append(e.Strays, Record{PID: p.pid, Start: p.start, BootID: boottime.BootID()})
	}
	for p := range w.hunt.killed {
		if p.pid != w.runner {
			e.StrayKilled++
		}
	}
	return w.exit(e)
}
