// Package command makes runners of programs that the host's configuration names.
//
// A program gets the goal as PHONEBOOTH_GOAL and in the file at PHONEBOOTH_INPUT; where it wants it as an argument, {goal}
// stands for it, and {serial} for the device's name. No shell is involved:
//
//	r, err := command.New(command.Config{
//		Name:    "maestro",
//		Drivers: []string{"android"},
//		Argv:    []string{"maestro", "test", "--env=GOAL={goal}", "flow.yaml"},
//		Stop:    "INT",
//	})
//
// It reads no file by itself and starts nothing. New is pure.
package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// Config is one runner in the host's configuration.
type Config struct {
	Name      string
	Drivers   []string          // driver types that it can drive; empty: all
	Argv      []string          // program and arguments
	Env       map[string]string // variables on top of the contract's
	Stop      string            // the first signal of a stop: INT (default), TERM, HUP, QUIT, USR1, USR2
	Grace     time.Duration     // from there to SIGTERM; 5 s when 0
	TermGrace time.Duration     // from there to SIGKILL; 2 s when 0
	ExitCodes map[int]string    // what exit codes mean where that differs from the contract: "done" or a failure's code
}

var signals = map[string]syscall.Signal{
	"": syscall.SIGINT, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

// codes are what an exit code may mean.
var codes = []string{
	"credentials", "device_lost", "done", "invalid_task", "runner_failed", "runner_misconfigured", "timeout", "try_again",
}

// maxGrace keeps a stop shorter than anybody would wait for it.
const maxGrace = 10 * time.Minute

// New checks c and makes a runner of it. The error names the setting.
func New(c Config) (runner.Registration, error) {
	program, err := c.program()
	if err != nil {
		return runner.Registration{}, fmt.Errorf("runner %q: %w", c.Name, err)
	}
	return runner.Registration{Name: c.Name, Drivers: c.Drivers, Fence: "process", Runner: program}, nil
}

func (c Config) program() (runner.Program, error) {
	p := runner.Program{
		Argv: slices.Clone(c.Argv), Exits: maps.Clone(c.ExitCodes),
		Stop: runner.Ladder{Grace: c.Grace, TermGrace: c.TermGrace},
	}
	first, known := signals[strings.TrimPrefix(strings.ToUpper(c.Stop), "SIG")]
	if !known {
		return p, fmt.Errorf("stop: the signal must be one of INT, TERM, HUP, QUIT, USR1, USR2")
	}
	p.Stop.First = first
	if c.Grace < 0 || c.TermGrace < 0 || c.Grace > maxGrace || c.TermGrace > maxGrace {
		return p, fmt.Errorf("grace: it must be between 0 and %v", maxGrace)
	}
	for code, meaning := range c.ExitCodes {
		if code < 0 || code > 255 || !slices.Contains(codes, meaning) {
			return p, fmt.Errorf("exit_codes: a code from 0 to 255 means one of %s", strings.Join(codes, ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		p.Env = append(p.Env, name+"="+c.Env[name])
	}
	return p, p.Validate()
}
