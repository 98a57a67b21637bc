package boottime

import "golang.org/x/sys/unix"

// On macOS it is CLOCK_MONOTONIC that counts suspend; CLOCK_UPTIME_RAW does not.
const clock = unix.CLOCK_MONOTONIC

// BootID names this boot of the machine: equal for every process until the next
// reboot. It is empty where the kernel does not tell. The time of the boot would not
// do: it moves when somebody sets the clock (C11).
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
