package simdevice

import (
	"time"

	"golang.org/x/sys/unix"
)

// steadyNow is the time since boot, suspend included.
func steadyNow() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
