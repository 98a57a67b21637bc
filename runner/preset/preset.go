// Package preset holds runners for programs that many hosts have: data, no code.
//
// adb-shell: the goal is a command line for the shell of the leased Android device. The adb program of the host runs it;
// the bridge's ANDROID_SERIAL says on which device. The attempt is done when the command ends with 0, and failed with
// any other exit code.
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
		Name: "adb-shell", Drivers: []string{"android"}, Fence: "process",
		Runner: runner.Program{
			// Neither adb nor the phone's shell may take a goal that begins with a hyphen for their own option: "--"
			// ends adb's, and the space before the goal makes it no option for sh -c.
			Argv:  []string{"adb", "shell", "-T", "--", " {goal}"},
			Stop:  runner.Ladder{First: syscall.SIGINT, Grace: 2 * time.Second, TermGrace: time.Second},
			Other: "runner_failed", // a command's exit code is its own and follows no contract
		},
	}}
}
