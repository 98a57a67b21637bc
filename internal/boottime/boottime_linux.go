package boottime

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const clock = unix.CLOCK_BOOTTIME

// BootID names this boot of the machine: equal for every process until the next
// reboot. It is empty where the kernel does not tell.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
