package minder

import (
	"context"
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// Record is what tells a process, a minder most of all, from every other one, on a disk and over restarts.
type Record struct {
	PID    int    `json:"pid"`   // 0: none was started
	Start  uint64 `json:"start"` // the system's own measure; equal is all that counts
	BootID string `json:"boot_id"`
	Cookie string `json:"cookie,omitempty"` // of a minder's runner
}

// Alive says whether the process runs now. Of another boot nothing is alive, and a later
// process with the same id is another one.
func (r Record) Alive() bool {
	if r.PID <= 0 || r.BootID != boottime.BootID() {
		return false
	}
	p, found := lookUp(r.PID)
	return found && p.start == r.Start && !p.dead
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
	for r.Alive() {
		select {
		case <-ctx.Done():
			return !r.Alive()
		case <-time.After(huntPause):
		}
	}
	return true
}
