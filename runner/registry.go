package runner

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Registration is a runner and what a host must know to offer it.
type Registration struct {
	Name    string
	Drivers []string // the driver types that it can drive; empty: all
	Fence   string   // "gate" or "process": how it is kept off the device when the lease is lost
	Runner  Runner

	Summary    string   // for people, one line
	Verified   string   // the tool and version with which it was tried; "": it was not
	Follows    string   // the tool and version whose documentation it follows, when it was not tried
	OnlyByName bool     // it is no device's default
	ShellGoal  bool     // its goal is read by a shell, so one that holds values from a caller is refused
	ReadsLog   bool     // its Parse reads what its program wrote, so that is kept whole as far as MaxReadLog
	Needs      []string // programs that must be in the host's PATH
	Secrets    []string // names of the host's secrets that its program gets as variables
	Keep       []string // patterns of files in the working directory that are artifacts too
	Limits     Limits
}

// Limits end an attempt whose program goes beyond them. The zero value is what every runner has.
type Limits struct {
	Timeout        time.Duration // of one step, at most; 0: the task's alone
	Silence        time.Duration // without a byte of log or events; 0: for ever
	ArtifactsBytes int64         // all of a step's; 0: 4 GiB
}

// MaxReadLog is how many bytes of a step's output a host keeps for a runner that reads them.
const MaxReadLog = 256 << 20

// Drives reports whether the runner can drive devices of driverType.
func (r Registration) Drives(driverType string) bool {
	return len(r.Drivers) == 0 || slices.Contains(r.Drivers, driverType)
}

// Registry maps names to runners. Fill it first, then share it: Register must not run at the same time as anything else.
type Registry struct {
	runners []Registration
	without map[string]string // names that are not offered: why
}

// Register adds r behind those that are there: of the runners that drive a device, the first that is not OnlyByName is the
// default.
func (g *Registry) Register(r Registration) error {
	switch _, taken := g.Lookup(r.Name); {
	case !phonebooth.ValidName(r.Name):
		return fmt.Errorf("register runner %q: the name must be 1 to 63 letters, digits, dots, underscores and hyphens", r.Name)
	case taken:
		return fmt.Errorf("register runner %q: the name is taken", r.Name)
	case r.Runner == nil:
		return fmt.Errorf("register runner %q: there is no runner", r.Name)
	case r.Fence != "gate" && r.Fence != "process":
		return fmt.Errorf("register runner %q: the fence must be gate or process", r.Name)
	case r.Verified != "" && r.Follows != "":
		return fmt.Errorf("register runner %q: it was tried, or it follows a documentation, not both", r.Name)
	case r.Limits.Timeout < 0 || r.Limits.Silence < 0 || r.Limits.ArtifactsBytes < 0:
		return fmt.Errorf("register runner %q: no limit is below 0", r.Name)
	}
	for _, pattern := range r.Keep {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || !filepath.IsLocal(pattern) {
			return fmt.Errorf("register runner %q: %q is no pattern of files in the working directory", r.Name, pattern)
		}
	}
	for _, name := range r.Secrets {
		if !ValidVariable(name) {
			return fmt.Errorf("register runner %q: a secret has the name of a variable", r.Name)
		}
	}
	r.Drivers = slices.Clone(r.Drivers)
	g.runners = append(g.runners, r)
	return nil
}

// Lookup finds a runner by its name.
func (g *Registry) Lookup(name string) (Registration, bool) {
	at := slices.IndexFunc(g.runners, func(r Registration) bool { return r.Name == name })
	if at < 0 {
		return Registration{}, false
	}
	return g.runners[at], true
}

// Choose is the runner for a device of driverType: the named one, or the default when name is "". The error's code is
// unknown_runner.
func (g *Registry) Choose(driverType, name string) (Registration, error) {
	offers := g.Offers(driverType)
	what := "such"
	if name == "" && len(offers) > 0 {
		name, what = offers[0], "default"
		if r, _ := g.Lookup(name); r.OnlyByName {
			name = ""
		}
	}
	if why := g.without[name]; why != "" && !slices.Contains(offers, name) {
		return Registration{}, phonebooth.Errorf(phonebooth.Invalid, "unknown_runner",
			"this host does not offer the runner %s: %s; it has: %s", name, why, strings.Join(offers, ", "))
	}
	if !slices.Contains(offers, name) {
		return Registration{}, phonebooth.Errorf(phonebooth.Invalid, "unknown_runner",
			"this host has no %s runner for %s devices; it has: %s", what, driverType, strings.Join(offers, ", "))
	}
	r, _ := g.Lookup(name)
	return r, nil
}

// Offers names the runners that can drive devices of driverType: the default first, those that are used by name only last.
func (g *Registry) Offers(driverType string) []string {
	var names, byName []string
	for _, r := range g.runners {
		switch {
		case !r.Drives(driverType):
		case r.OnlyByName:
			byName = append(byName, r.Name)
		default:
			names = append(names, r.Name)
		}
	}
	return append(names, byName...)
}

// All lists what is registered, in order.
func (g *Registry) All() []Registration { return slices.Clone(g.runners) }

// Missing lists the programs that r needs and lookPath, which is exec.LookPath on a host, does not find.
func (r Registration) Missing(lookPath func(string) (string, error)) (missing []string) {
	for _, program := range r.Needs {
		if _, err := lookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// Only is a registry of those runners that keep says yes to, in the same order.
func (g *Registry) Only(keep func(Registration) bool) *Registry {
	return &Registry{runners: slices.DeleteFunc(g.All(), func(r Registration) bool { return !keep(r) }), without: maps.Clone(g.without)}
}

// Without has Choose say why a runner is not offered, by name, to whoever asks for it. It is for filling the registry, as Register is.
func (g *Registry) Without(reasons map[string]string) { g.without = maps.Clone(reasons) }
