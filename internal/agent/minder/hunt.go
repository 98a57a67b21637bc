package minder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// How long killing may go on before the rest counts as left: in a minder, which
	// should report before its agent loses patience, and in the agent.
	minderLimit = time.Second
	sweepLimit  = 5 * time.Second
	// enoughLooks are taken in any case: on a machine that is so busy that the limit
	// passes during the first, what was killed must be seen dead.
	enoughLooks = 5

	huntPause = 10 * time.Millisecond // between two looks at the process table
	// cleanLooks in a row must find nothing: a process that forks while the table is
	// read can be missed by one look.
	cleanLooks = 2
)

// ErrLeft means that processes would not die. Whatever they drive is not free.
var ErrLeft = errors.New("processes are left that could not be killed")

// quarry tells which processes are to die.
type quarry func([]process) []process

// hunt is one pursuit: it kills what its quarry finds, until nothing is found.
type hunt struct {
	find   quarry
	killed map[identity]bool
	left   []identity // what the last strike found alive
}

func newHunt(find quarry) *hunt { return &hunt{find: find, killed: make(map[identity]bool)} }

// strike kills whatever is found by one look and returns how many that were.
func (h *hunt) strike() (int, error) {
	table, err := processTable()
	if err != nil {
		return 0, err
	}
	h.left = nil
	for _, p := range h.find(table) {
		if p.dead || p.pid == os.Getpid() || p.pid <= 1 {
			continue
		}
		h.left = append(h.left, p.identity)
		if kill(p) {
			h.killed[p.identity] = true
		}
	}
	return len(h.left), nil
}

// run strikes until nothing is found any more, or the limit or ctx ends it. between is
// called after each strike. It returns how many were left at the last look; an error
// means that the last look failed.
func (h *hunt) run(ctx context.Context, limit time.Duration, between func()) (left int, err error) {
	end := time.Now().Add(limit)
	for look, clean := 1, 0; ; look++ {
		left, err = h.strike()
		between()
		if left == 0 && err == nil {
			clean++
		} else {
			clean = 0
		}
		if clean == cleanLooks || look >= enoughLooks && time.Now().After(end) {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, err
		case <-time.After(huntPause):
		}
	}
}

// kill sends SIGKILL to p and to no later process with its number.
func kill(p process) bool {
	handle, err := os.FindProcess(p.pid) // holds on to whatever has the number now
	if err != nil {
		return false
	}
	defer func() { _ = handle.Release() }()
	if now, found := lookUp(p.pid); !found || now.start != p.start {
		return false
	}
	return handle.Signal(syscall.SIGKILL) == nil
}

// bearers finds the processes that bear a cookie, or its mark and no cookie at all.
func bearers(bears func(pid int, cookie string) bool) quarry {
	return func(table []process) []process {
		var found []process
		for _, p := range table {
			if bears(p.pid, cookieOf(p.pid)) {
				found = append(found, p)
			}
		}
		return found
	}
}

// Sweep kills every process that carries exactly this cookie, or that came from one that
// did and has none, and says how many those were. The error is ErrLeft when some would not die within five seconds, or
// before ctx ended.
func Sweep(ctx context.Context, cookie string) (killed int, err error) {
	if cookie == "" {
		return 0, errors.New("sweep: no cookie")
	}
	return sweep(ctx, func(pid int, c string) bool { return c == cookie || c == "" && hasMark(pid, cookie) })
}

// SweepPrefix is Sweep for every cookie that begins with prefix: for an agent whose
// cookies all begin alike and that cannot read its journal. It finds no process that has
// emptied its environment.
func SweepPrefix(ctx context.Context, prefix string) (killed int, err error) {
	if prefix == "" {
		return 0, errors.New("sweep: no prefix")
	}
	return sweep(ctx, func(_ int, c string) bool { return strings.HasPrefix(c, prefix) })
}

func sweep(ctx context.Context, bears func(pid int, cookie string) bool) (int, error) {
	h := newHunt(bearers(bears))
	left, err := h.run(ctx, sweepLimit, func() {})
	if left > 0 {
		err = errors.Join(fmt.Errorf("%w: %d", ErrLeft, left), err)
	}
	if err != nil {
		err = fmt.Errorf("sweep: %w", err)
	}
	return len(h.killed), err
}
