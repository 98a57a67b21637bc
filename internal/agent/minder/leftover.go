package minder

import (
	"context"
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// Record is what tells a minder from every other process, on a disk and over restarts.
type Record struct {
	PID    int    // 0: none was started
	Start  uint64 // the system's own measure; equal is all that counts
	BootID string
	Cookie string
}

// Alive says whether the process with this id, start and boot runs now. Of another
// boot nothing is alive, and a later process with the same id is another one.
func Alive(pid int, start uint64, bootID string) bool {
	if pid <= 0 || bootID != boottime.BootID() {
		return false
	}
	p, found := lookUp(pid)
	return found && p.start == start && !p.dead
}

// leftoverPatience is how long a minder that lost its agent may take to kill and to
// write the exit file.
const leftoverPatience = 3 * time.Second

// KillLeftovers ends what a former life of the agent left: it waits for the minder to
// finish, as it does by itself when its agent dies, kills it if it does not, and kills
// whatever carries the cookie. killed counts what this call had to kill. When it
// returns nil nothing of the attempt is alive, and ReadExit tells how it ended if its
// minder could. An error means that something may be alive: the device is not free.
func KillLeftovers(ctx context.Context, r Record) (killed int, err error) {
	if r.BootID != "" && r.BootID != boottime.BootID() {
		return 0, nil
	}
	if !awaitDeath(ctx, r, leftoverPatience) {
		if p, found := lookUp(r.PID); found && p.start == r.Start && kill(p) {
			killed++
		}
		if !awaitDeath(ctx, r, leftoverPatience) {
			return killed, fmt.Errorf("kill minder %d: %w", r.PID, ErrLeft)
		}
	}
	swept, err := Sweep(ctx, r.Cookie)
	return killed + swept, err
}

// awaitDeath returns true once the minder is not alive, false if it still is after d.
func awaitDeath(ctx context.Context, r Record, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for Alive(r.PID, r.Start, r.BootID) {
		select {
		case <-ctx.Done():
			return !Alive(r.PID, r.Start, r.BootID)
		case <-time.After(huntPause):
		}
	}
	return true
}
