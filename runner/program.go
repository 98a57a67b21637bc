package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
)

// Program is a [Runner] that is nothing but data: what presets and the host's configuration are made of.
//
// In Argv, {goal} and {serial} stand for the task's goal and the device's name; each element stays one argument, whatever
// they hold. A goal that an element begins with could be taken for an option, so such an element must come after "--".
type Program struct {
	Argv  []string
	Env   []string
	Stop  Ladder
	Exits map[int]string // exit codes that mean something else than in the contract: a code of section 6, or "done"
	Other string         // the code for every exit code that is neither in Exits nor 0; "": as in the contract

	MaxGoal int // bytes of a goal that the program can carry, if that is less than a task may have; 0: as many
}

// Validate refuses a program that cannot be run, or not safely.
func (p Program) Validate() error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return fmt.Errorf("there is no program to run: argv is empty")
	}
	for i, arg := range p.Argv {
		switch {
		case strings.ContainsRune(arg, 0):
			return fmt.Errorf("argv[%d] holds a NUL byte", i)
		case i == 0 && strings.Contains(arg, "{"):
			return fmt.Errorf("argv[0] is the program: it cannot come from the task")
		case strings.HasPrefix(arg, "{goal}") && !slices.Contains(p.Argv[:i], "--"):
			return fmt.Errorf("argv[%d] begins with {goal}: a goal that begins with a hyphen would be an option; put \"--\" before it, or pass it as --name={goal}", i)
		}
	}
	for _, entry := range p.Env {
		if name, _, found := strings.Cut(entry, "="); !found || !ValidVariable(name) || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("a variable must be NAME=VALUE: the name of letters, digits and underscores, and not %s...", own)
		}
	}
	return nil
}

// variable is how names of variables are written that every shell can read.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// ValidVariable reports whether a preset or a configuration may set a variable of this name: the contract's own it may not.
func ValidVariable(name string) bool {
	return variable.MatchString(name) && !strings.HasPrefix(name, own)
}

// Command puts the goal and the serial in their places. A goal that is too long is refused as invalid_task.
func (p Program) Command(w Work) (Command, error) {
	if p.MaxGoal > 0 && len(w.Goal) > p.MaxGoal {
		return Command{}, phonebooth.Errorf(phonebooth.Invalid, "invalid_task", "this runner takes goals of at most %d bytes", p.MaxGoal)
	}
	fill := strings.NewReplacer("{goal}", w.Goal, "{serial}", w.Serial)
	argv := make([]string, len(p.Argv))
	for i, arg := range p.Argv {
		argv[i] = fill.Replace(arg)
	}
	return Command{Argv: argv, Env: slices.Clone(p.Env), Stop: p.Stop.WithDefaults()}, nil
}

// Parse reads the exit codes that mean something of their own here.
func (p Program) Parse(e End) (phonebooth.Report, bool) {
	if e.Signal != "" {
		return phonebooth.Report{}, false
	}
	code, ok := p.Exits[e.Code]
	if !ok && p.Other != "" && e.Code != 0 {
		code, ok = p.Other, true
	}
	return ByName(code, fmt.Sprintf("the runner ended with exit code %d", e.Code)), ok
}
