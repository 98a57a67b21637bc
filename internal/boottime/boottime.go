// Package boottime reads the machine's steady clock: one that nobody can set and
// that goes on counting while the machine is suspended. Lease time is this clock.
//
// It is not time.Now: the runtime's monotonic clock stands still during suspend on
// Linux, so a laptop that slept for a minute would believe that its leases are still
// fresh. Readings mean nothing on another machine or after a reboot; BootID tells
// whether two readings can be compared.
//
//	start := boottime.Now()
//	...
//	spent := boottime.Now() - start
//
// Both functions may be called from any number of goroutines.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since an arbitrary point that is fixed while the machine is up,
// suspend included. It never goes back.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		// Every kernel that Go supports has this clock. Going on with a clock that
		// stands still would let a lease live for ever.
		panic("boottime: read the steady clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
