package boottime

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// On macOS it is CLOCK_MONOTONIC that counts suspend; CLOCK_UPTIME_RAW does not.
const clock = unix.CLOCK_MONOTONIC

// BootID names this boot of the machine: equal for every process until the next
// reboot. It is empty where the kernel does not tell. Here it is the time of the
// boot, in seconds.
func BootID() string {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(int64(at.Sec), 10)
}
