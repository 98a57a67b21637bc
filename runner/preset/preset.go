// Package preset holds runners for programs that many hosts have: data, no code.
//
// adb-shell: the goal is a command line for the shell of the leased Android device. The adb program of the host runs it;
// the bridge's ANDROID_SERIAL says on which device. The attempt is done when the command ends with 0, and failed with
// any other exit code, which is then the last line of the log. It needs Android 7: older phones do not tell exit codes. A
// goal of more than 64,000 bytes is refused, since adb cannot carry it.
//
// shell: the goal is a script for the shell of the host, which ends at the first command that fails. It is used by name only.
//
// A program whose preset is not here is configured on the host: see package runner/command.
package preset

import (
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// All lists the presets. The first one for a driver type is that type's default.
func All() []runner.Registration {
	return []runner.Registration{{
		Name: "adb-shell", Drivers: []string{"android"}, Fence: "gate", ShellGoal: true,
		Runner: runner.Program{
			// When the device drops off in the middle, adb ends with 0: so success is told by a code that only a
			// command that ended can lead to, and 0 means that the end was not seen. The command's own exit code follows no
			// contract. In parentheses, a goal that begins with a hyphen is no option for adb or for sh -c.
			Argv:  []string{"adb", "shell", "-T", "--", "( {goal}\n) && exit 217 || echo exit code $? >&2; exit 1"},
			Stop:  runner.Ladder{First: syscall.SIGINT, Grace: 2 * time.Second, TermGrace: time.Second},
			Exits: map[int]string{217: "done", 0: "device_lost"},
			Other: "runner_failed",
			// adb carries less than 64 KiB of command line, and says no more than "closed" of a longer one.
			MaxGoal: 64_000,
		},
	}, {
		Name: "shell", Fence: "gate", OnlyByName: true, ShellGoal: true,
		Runner: runner.Program{
			Argv:    []string{"sh", "-e", "-c", "--", "{goal}"},
			MaxGoal: 100_000,
		},
	}}
}
