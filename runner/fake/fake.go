// Package fake is a runner that pretends: for demos, for tests, and for finding out whether a pool works at all.
//
// Its program is the same binary, re-executed with the hidden verb [Verb], so that starting, stopping and killing it are
// real. A binary that offers it calls [Main] when its first argument is Verb, before anything else.
//
// The goal is a script: steps between semicolons, each one of
//
//	sleep SECONDS     waits; fractions are allowed
//	print TEXT        writes a line to the log
//	exit CODE         ends with that exit code
//	hang              never ends by itself
//	ignore-signals    ends by nothing but SIGKILL from here on
//
// A script that gets to its end is done. Any other goal is pretended: a few steps within about a second, then done.
package fake

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// Name is the name of the runner, and Verb the hidden first argument of its program.
const (
	Name = "fake"
	Verb = "__fake"
)

// Registration is the runner for devices of the given driver types.
func Registration(drivers ...string) (runner.Registration, error) {
	self, err := os.Executable()
	if err != nil {
		return runner.Registration{}, fmt.Errorf("find this binary: %w", err)
	}
	return runner.Registration{
		Name: Name, Drivers: drivers, Fence: "process",
		Runner: runner.Program{
			Argv: []string{self, Verb},
			Stop: runner.Ladder{Grace: time.Second, TermGrace: time.Second},
		},
	}, nil
}

// action is one step of a script.
type action struct {
	verb string
	text string        // of print
	wait time.Duration // of sleep
	code int           // of exit
}

// maxSleep is a day, like the longest timeout of a task.
const maxSleep = 24 * time.Hour

// parse reads goal as a script. ok is false when it is none.
func parse(goal string) (script []action, ok bool) {
	for part := range strings.SplitSeq(goal, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		a, ok := parseAction(part)
		if !ok {
			return nil, false
		}
		script = append(script, a)
	}
	return script, len(script) > 0
}

func parseAction(part string) (a action, ok bool) {
	verb, rest, _ := strings.Cut(part, " ")
	a = action{verb: verb, text: strings.TrimSpace(rest)}
	switch verb {
	case "print":
		return a, true
	case "hang", "ignore-signals":
		return a, a.text == ""
	case "sleep":
		seconds, err := strconv.ParseFloat(a.text, 64)
		a.wait = time.Duration(seconds * float64(time.Second))
		return a, err == nil && seconds >= 0 && seconds <= maxSleep.Seconds()
	case "exit":
		code, err := strconv.Atoi(a.text)
		a.code = code
		return a, err == nil && code >= 0 && code <= 255
	}
	return a, false
}
