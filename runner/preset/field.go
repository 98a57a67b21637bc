package preset

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// draft is a preset while it is read.
type draft struct {
	reader
	registration runner.Registration
	program      runner.Program
	arguments    []ast.Node // where each of the program's argv is
	templates    []template
}

// template is a text other than an argument in which placeholders can stand.
type template struct {
	node     ast.Node
	value    string
	goalless bool // no {goal}
	fixed    bool // no placeholder at all
}

// reading is what reads the end of a program, and whether it reads its log.
type reading struct {
	read runner.Reading
	log  bool
}

func newDraft() *draft { return &draft{registration: runner.Registration{Fence: "process"}} }

var (
	named     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	oneLine   = regexp.MustCompile(`^[^\x00-\x1f\x7f]{1,200}$`)
	inputName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	executed  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$`)
	secret    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	anyText   = regexp.MustCompile(`(?s)^.+$`)
	localURL  = regexp.MustCompile(`^http://(127\.0\.0\.1|localhost):([0-9]+|\{port(\+[0-9]+)?\})(/[^ ]*)?$`)
	exitCode  = regexp.MustCompile(`^(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$`)
)

const nameForm = "1 to 63 letters, digits, dots, underscores and hyphens, the first a letter or a digit"

// The words that fields choose from.
var (
	codes = []string{
		"credentials", "device_lost", "done", "invalid_task", "runner_failed", "runner_misconfigured", "timeout", "try_again",
	}
	signals = map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	}
	readings = map[string]reading{"instrumentation": {readInstrumentation, true}, "png": {read: readPNG}}
)

// The longest times.
const (
	maxGrace  = 10 * time.Minute
	maxWithin = 10 * time.Minute
	within    = time.Minute
	maxLimit  = 24 * time.Hour
)

// table is how each field is read. Its names are the format's.
func (p *draft) table() map[string]func(ast.Node) {
	r := &p.registration
	return map[string]func(ast.Node){
		"name":       p.matching(&r.Name, named, "name", nameForm),
		"summary":    p.matching(&r.Summary, oneLine, "summary", "one line of at most 200 characters"),
		"drivers":    p.texts(&r.Drivers, named, "drivers", nameForm),
		"fence":      p.one(&r.Fence, "fence", "gate", "process"),
		"default":    p.ofDefault,
		"shell_goal": p.truth(&r.ShellGoal, "shell_goal"),
		"argv":       p.argv,
		"env":        func(node ast.Node) { p.env(node, &p.program.Env, false) },
		"inputs":     p.inputs,
		"needs":      p.texts(&r.Needs, executed, "needs", "the name of a program, without a slash"),
		"secrets":    p.secrets,
		"stop":       p.stop,
		"result":     p.result,
		"exit_codes": p.exits,
		"other_exit": p.one(&p.program.Other, "other_exit", codes...),
		"max_goal":   p.number(&p.program.MaxGoal, "max_goal", 1, phonebooth.MaxGoalBytes),
		"keep":       p.keep,
		"limits":     p.limits,
		"service":    p.service,
		"verified":   p.matching(&r.Verified, oneLine, "verified", "the tool and its version, in one line"),
		"follows":    p.matching(&r.Follows, oneLine, "follows", "the tool and its version, in one line"),
	}
}

func (p *draft) ofDefault(node ast.Node) {
	standard := true
	p.truth(&standard, "default")(node)
	p.registration.OnlyByName = !standard
}

// argv reads arguments; a list among them is left out where an input in it has no value.
func (p *draft) argv(node ast.Node) {
	argument := func(element ast.Node) {
		var value string
		p.matching(&value, anyText, "an argument", "text that is not empty")(element)
		p.program.Argv, p.arguments = append(p.program.Argv, value), append(p.arguments, element)
	}
	for i, element := range p.list(node, "argv") {
		group, ok := element.(*ast.SequenceNode)
		if !ok || i == 0 {
			argument(element)
			continue
		}
		from := len(p.program.Argv)
		for _, inner := range p.list(group, "a list in argv") {
			argument(inner)
		}
		p.program.Optional = append(p.program.Optional, runner.Span{From: from, To: len(p.program.Argv)})
	}
}

// env reads variables.
func (p *draft) env(node ast.Node, into *[]string, goalless bool) {
	for _, f := range p.pairs(node, "env", "those of variables") {
		if !runner.ValidVariable(f.name) {
			p.wrong(f.key, "a variable is named by letters, digits and underscores, and not PHONEBOOTH_...")
			continue
		}
		if value, ok := p.text(f.value, "the value of a variable"); ok {
			*into = append(*into, f.name+"="+value)
			p.templates = append(p.templates, template{node: f.value, value: value, goalless: goalless})
		}
	}
	slices.Sort(*into)
}

func (p *draft) inputs(node ast.Node) {
	p.program.Inputs = map[string]runner.Value{}
	variables := map[string]bool{}
	for _, f := range p.pairs(node, "inputs", "yours to choose") {
		variable := strings.ReplaceAll(f.name, "-", "_")
		if variables[variable] {
			p.wrong(f.key, "inputs that differ only in hyphens and underscores are one variable to the program")
			continue
		}
		variables[variable] = true
		if !inputName.MatchString(f.name) {
			p.wrong(f.key, "an input is named by small letters, digits, hyphens and underscores, the first a letter")
			continue
		}
		var v runner.Value
		given := false
		p.fields(f.value, "an input", map[string]func(ast.Node){
			"required": p.truth(&v.Required, "required"),
			"summary":  p.matching(&v.Summary, oneLine, "summary", "one line of at most 200 characters"),
			"default": func(at ast.Node) {
				v.Default, given = p.ofText(at, "default"), true
			},
			"pattern": func(at ast.Node) {
				pattern, err := runner.NewPattern(p.ofText(at, "pattern"))
				if err != nil {
					p.wrong(at, "pattern must be a regular expression, as Go reads them")
					return
				}
				v.Pattern = pattern
			},
		})
		if v.Required && given {
			p.wrong(f.value, "an input that is required has no default")
		}
		p.program.Inputs[f.name] = v
	}
}

func (p *draft) ofText(node ast.Node, what string) string {
	value, _ := p.text(node, what)
	return value
}

func (p *draft) secrets(node ast.Node) {
	var names []string
	p.texts(&names, secret, "secrets", "the name of a variable")(node)
	for _, name := range names {
		if !runner.ValidVariable(name) {
			p.wrong(node, "no secret is named PHONEBOOTH_...")
		}
	}
	p.registration.Secrets = names
}

func (p *draft) stop(node ast.Node) {
	var first string
	p.fields(node, "stop", map[string]func(ast.Node){
		"signal":     p.one(&first, "signal", slices.Sorted(maps.Keys(signals))...),
		"grace":      p.duration(&p.program.Stop.Grace, "grace", maxGrace),
		"term_grace": p.duration(&p.program.Stop.TermGrace, "term_grace", maxGrace),
	})
	p.program.Stop.First = signals[first]
}

func (p *draft) result(node ast.Node) {
	var name string
	p.fields(node, "result", map[string]func(ast.Node){
		"parser": p.one(&name, "parser", slices.Sorted(maps.Keys(readings))...),
	}, "parser")
	p.program.Reading, p.registration.ReadsLog = readings[name].read, readings[name].log
}

func (p *draft) exits(node ast.Node) {
	p.program.Exits = map[int]string{}
	for _, f := range p.pairs(node, "exit_codes", "exit codes") {
		if !exitCode.MatchString(f.name) {
			p.wrong(f.key, "an exit code is a whole number from 0 to 255")
			continue
		}
		code, _ := strconv.Atoi(f.name) // the pattern lets nothing else through
		var meaning string
		p.one(&meaning, "the meaning of an exit code", codes...)(f.value)
		p.program.Exits[code] = meaning
	}
}

func (p *draft) keep(node ast.Node) {
	p.texts(&p.registration.Keep, anyText, "keep", "a pattern of file names")(node)
	for _, pattern := range p.registration.Keep {
		if _, err := path.Match(pattern, ""); err != nil || !filepath.IsLocal(pattern) {
			p.wrong(node, "keep names files in the working directory, such as report/*.xml")
			return
		}
	}
}

func (p *draft) limits(node ast.Node) {
	l := &p.registration.Limits
	p.fields(node, "limits", map[string]func(ast.Node){
		"timeout":   p.duration(&l.Timeout, "timeout", maxLimit),
		"silence":   p.duration(&l.Silence, "silence", maxLimit),
		"artifacts": p.size(&l.ArtifactsBytes, "artifacts"),
	})
}

func (p *draft) service(node ast.Node) {
	s := &runner.Service{Within: within}
	p.fields(node, "service", map[string]func(ast.Node){
		"argv": func(at ast.Node) {
			for i, element := range p.list(at, "the service's argv") {
				var value string
				p.matching(&value, anyText, "an argument", "text that is not empty")(element)
				s.Argv = append(s.Argv, value)
				p.templates = append(p.templates, template{node: element, value: value, goalless: true, fixed: i == 0})
			}
		},
		"env": func(at ast.Node) { p.env(at, &s.Env, true) },
		"ready": func(at ast.Node) {
			p.matching(&s.Ready, localURL, "ready", "a URL of this machine that answers when the service is ready: http://127.0.0.1:{port}/...")(at)
			p.templates = append(p.templates, template{node: at, value: s.Ready, goalless: true})
		},
		"within": p.duration(&s.Within, "within", maxWithin),
	}, "argv", "ready")
	p.program.Service = s
}
