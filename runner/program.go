package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Program is a [Runner] that is nothing but data: what presets and the host's configuration are made of.
//
// In Argv, in the values of Env and in its service, {serial} stands for the device's name, {with.NAME} for an input, and {port}
// and {port+1} to {port+19} for the ports of the device's slot; {goal} stands for the goal in Argv and Env. Each element stays
// one argument, whatever they hold. A goal that an element begins with could be taken for an option, so such an element must come
// after "--"; an input that an element before "--" begins with is refused when it begins with a hyphen itself.
type Program struct {
	Argv     []string
	Optional []Span // parts of Argv that are left out where an input in them has no value
	Env      []string
	Inputs   map[string]Value
	Service  *Service // that runs beside it; nil: none
	Stop     Ladder
	Exits    map[int]string // exit codes that mean something else than in the contract: a code of section 6, or "done"
	Other    string         // the code for every exit code that is neither in Exits nor 0; "": as in the contract
	Reading  Reading        // what is read from its end before exit codes count; nil: nothing

	MaxGoal int // bytes of a goal that the program can carry, if that is less than a task may have; 0: as many
}

// Span is a part of an argv, Argv[From:To].
type Span struct{ From, To int }

func (s Span) holds(i int) bool { return i >= s.From && i < s.To }

// Value is an input of a program, as a step's or a task's "with" gives it.
type Value struct {
	Required bool
	Default  string   // when it is left out; {goal} and {serial} stand for what they do in Argv
	Pattern  *Pattern // that a value must match; nil: any
	Summary  string   // for people
}

// Service is a program that runs beside another for as long as that one does. A binary that offers programs with services
// runs package runner/service when its first argument is [AttendVerb].
type Service struct {
	Self   string        `json:"-"` // the binary that knows AttendVerb
	Argv   []string      `json:"argv"`
	Env    []string      `json:"env,omitempty"`
	Ready  string        `json:"ready"`  // URL that answers 2xx when it is ready
	Within time.Duration `json:"within"` // how long that may take
}

// AttendVerb is the hidden verb that runs a service beside a program: AttendVerb, the service as JSON, "--", the program.
const AttendVerb = "__attend"

// Reading is how the end of a program is read, when its exit code does not tell it all. See [Runner.Parse].
type Reading func(e End) (report phonebooth.Report, ok bool)

// Validate refuses a program that cannot be run, or not safely.
func (p Program) Validate() error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return fmt.Errorf("there is no program to run: argv is empty")
	}
	for i := range p.Argv {
		if err := p.CheckArg(i); err != nil {
			return fmt.Errorf("argv[%d]: %w", i, err)
		}
	}
	for _, entry := range p.Env {
		if name, _, found := strings.Cut(entry, "="); !found || !ValidVariable(name) || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("a variable must be NAME=VALUE: the name of letters, digits and underscores, and not beginning with %s", own)
		}
	}
	return nil
}

// CheckArg refuses Argv[i] when it cannot be passed to a program, or not safely.
func (p Program) CheckArg(i int) error {
	arg := p.Argv[i]
	places, err := p.places(arg)
	switch {
	case strings.ContainsRune(arg, 0):
		return fmt.Errorf("it holds a NUL byte")
	case i == 0 && len(places) > 0:
		return fmt.Errorf("the program cannot come from the task")
	case err != nil:
		return err
	case len(places) == 0 || !strings.HasPrefix(arg, places[0]) || p.guarded(i):
		return nil
	case places[0] == "{goal}":
		return fmt.Errorf("a goal that begins with a hyphen would be an option; put \"--\" before it, or pass it as --name={goal}")
	}
	return nil
}

// guarded reports whether "--" stands before Argv[i] whenever that is there: one that is left out guards only what is left out
// with it.
func (p Program) guarded(i int) bool {
	for j, arg := range p.Argv[:i] {
		if arg == "--" && !slices.ContainsFunc(p.Optional, func(s Span) bool { return s.holds(j) && !s.holds(i) }) {
			return true
		}
	}
	return false
}

// CheckText refuses a text that holds a placeholder that there is none of.
func (p Program) CheckText(text string) error {
	_, err := p.places(text)
	return err
}

// variable is how names of variables are written that every shell can read.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// ValidVariable reports whether a preset or a configuration may set a variable of this name: the contract's own it may not.
func ValidVariable(name string) bool {
	return variable.MatchString(name) && !strings.HasPrefix(name, own)
}

// Command puts everything in its place. A goal that is too long and inputs that are not as the program wants them are
// refused as invalid_task.
func (p Program) Command(w Work) (Command, error) {
	if p.MaxGoal > 0 && len(w.Goal) > p.MaxGoal {
		return Command{}, refuse("this runner takes goals of at most %d bytes", p.MaxGoal)
	}
	with, err := p.with(w)
	if err != nil {
		return Command{}, err
	}
	f := filling{goal: w.Goal, serial: w.Serial, with: with, port: w.PortBase}
	c := Command{Env: f.all(p.Env), Stop: p.Stop.WithDefaults(), With: maps.Clone(with)}
	maps.DeleteFunc(c.With, func(_, value string) bool { return value == "" })
	for i, arg := range p.Argv {
		if p.leftOut(i, with) {
			continue
		}
		filled := f.fill(arg)
		if name, option := p.couldBeOption(i, filled); option {
			return Command{}, refuse("the input %s must not begin with a hyphen", name)
		}
		c.Argv = append(c.Argv, filled)
	}
	if p.Service == nil {
		return c, nil
	}
	for i, arg := range p.Service.Argv {
		if name, option := (Program{Argv: p.Service.Argv}).couldBeOption(i, f.fill(arg)); option {
			return Command{}, refuse("the input %s must not begin with a hyphen", name)
		}
	}
	s := Service{Argv: f.all(p.Service.Argv), Env: f.all(p.Service.Env), Ready: f.fill(p.Service.Ready), Within: p.Service.Within}
	spec, err := json.Marshal(s)
	if err != nil {
		return Command{}, fmt.Errorf("encode the service: %w", err)
	}
	c.Argv = append([]string{p.Service.Self, AttendVerb, string(spec), "--"}, c.Argv...)
	return c, nil
}

// couldBeOption reports whether an input, put into Argv[i], has made an option of it.
func (p Program) couldBeOption(i int, filled string) (input string, option bool) {
	before, place, _, _ := cutPlace(p.Argv[i])
	input, is := inputOf(place)
	return input, is && before == "" && strings.HasPrefix(filled, "-") && !p.guarded(i)
}

// leftOut reports whether Argv[i] belongs to a part in which an input has no value.
func (p Program) leftOut(i int, with map[string]string) bool {
	for _, span := range p.Optional {
		if !span.holds(i) {
			continue
		}
		for _, place := range placesIn(strings.Join(p.Argv[span.From:span.To], "\n")) {
			if name, input := inputOf(place); input && with[name] == "" {
				return true
			}
		}
	}
	return false
}

// with is what w gives the program as inputs, with what stands for those that are left out.
func (p Program) with(w Work) (map[string]string, error) {
	names := slices.Sorted(maps.Keys(p.Inputs))
	for given := range w.With {
		if _, known := p.Inputs[given]; known {
			continue
		}
		if len(names) == 0 {
			return nil, refuse("this runner takes no inputs in with")
		}
		return nil, refuse("this runner has no such input; with may hold %s", strings.Join(names, ", "))
	}
	with := map[string]string{}
	f := filling{goal: w.Goal, serial: w.Serial, port: w.PortBase}
	for _, name := range names {
		input := p.Inputs[name]
		value := w.With[name]
		given := value != "" // one that is empty is one that was left out
		switch {
		case input.Required && value == "":
			return nil, refuse("the input %s is missing in with", name)
		case !given:
			value = f.fill(input.Default)
		}
		if strings.ContainsRune(value, 0) {
			return nil, refuse("the input %s holds a NUL byte", name)
		}
		if value != "" && input.Pattern != nil && !input.Pattern.matches(value) {
			from := ""
			if !given {
				from = ", which is the goal or comes from it unless with says otherwise,"
			}
			return nil, refuse("the input %s%s must match %s", name, from, input.Pattern)
		}
		with[name] = value
	}
	return with, nil
}

func refuse(format string, args ...any) error {
	return phonebooth.Errorf(phonebooth.Invalid, "invalid_task", format, args...)
}

// codeNotReady is the exit code of a program whose service was not ready: the contract's runner_misconfigured.
const codeNotReady = 78

// Parse reads what the program's own reading finds, or else the exit codes that mean something of their own here.
func (p Program) Parse(e End) (phonebooth.Report, bool) {
	if e.Signal != "" {
		return phonebooth.Report{}, false
	}
	if p.Reading != nil {
		if report, ok := p.Reading(e); ok {
			return report, true
		}
	}
	code, ok := p.Exits[e.Code]
	if notReady := p.Service != nil && e.Code == codeNotReady; !ok && !notReady && p.Other != "" && e.Code != 0 {
		code, ok = p.Other, true
	}
	return ByName(code, fmt.Sprintf("the runner ended with exit code %d", e.Code)), ok
}
