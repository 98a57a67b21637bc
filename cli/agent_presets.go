package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// presetSettings say which runners a host offers beside those that ship, and which of those it does not.
type presetSettings struct {
	Runners []ownRunner `yaml:"runners"`
	Files   []string    `yaml:"presets"`     // files, and directories of files
	Off     []string    `yaml:"presets_off"` // names
}

// ownRunner is one of runners: a runner, or why it is none. A wrong one costs itself alone.
type ownRunner struct {
	runner.Registration
	err error
}

// UnmarshalYAML reads the fields. It is never an error.
func (o *ownRunner) UnmarshalYAML(node ast.Node) error {
	var r preset.Runner
	err := r.UnmarshalYAML(node)
	if place, ok := errors.AsType[yaml.Error](err); ok && place.GetToken() != nil {
		at := place.GetToken().Position
		err = fmt.Errorf("line %d, column %d: %w", at.Line, at.Column, err)
	}
	if err == nil {
		err = (&runner.Registry{}).Register(r.Registration)
	}
	o.Registration, o.err = r.Registration, err
	return nil
}

// inConfiguration is where ownRunner's are from.
const inConfiguration = "runners"

// registrar makes a registry of what a host brings and of what ships: Options.Runners.
type registrar func(own ...runner.Registration) (*runner.Registry, error)

// presets are what a host knows of runners.
type presets struct {
	all    *runner.Registry
	source map[string]string // by name: where it comes from; of what ships, nothing
	reason map[string]string // by name: why it is not offered
	broken []preset.Loaded   // files that hold no preset, and why
}

// look reads the host's own presets, and looks for what each needs.
func (s presetSettings) look(registry registrar) (presets, error) {
	k := presets{source: map[string]string{}, reason: map[string]string{}}
	var own []runner.Registration
	for _, r := range s.Runners {
		if r.err == nil && k.source[r.Name] != "" {
			r.err = fmt.Errorf("the name %s is there twice", r.Name)
		}
		if r.err != nil {
			k.broken = append(k.broken, preset.Loaded{File: inConfiguration, Runner: r.Registration, Err: r.err})
			continue
		}
		own, k.source[r.Name] = append(own, r.Registration), inConfiguration
	}
	for _, l := range preset.Load(s.Files) {
		if l.Err == nil && k.source[l.Runner.Name] != "" {
			l.Err = fmt.Errorf("the name %s is taken by one of runners in the agent's configuration", l.Runner.Name)
		}
		if l.Err != nil {
			k.broken = append(k.broken, l)
			continue
		}
		own, k.source[l.Runner.Name] = append(own, l.Runner), l.File
	}
	var err error
	if k.all, err = registry(own...); err != nil {
		return k, err
	}
	for _, r := range k.all.All() {
		if missing := r.Missing(exec.LookPath); len(missing) > 0 {
			k.reason[r.Name] = strings.Join(missing, ", ") + " not in PATH"
		}
	}
	for _, name := range s.Off {
		if _, known := k.all.Lookup(name); !known {
			return k, fmt.Errorf("presets_off: there is no preset %q; there are %s", name, strings.Join(namesOf(k.all), ", "))
		}
		k.reason[name] = "off in the agent's configuration"
	}
	return k, nil
}

func namesOf(g *runner.Registry) (names []string) {
	for _, r := range g.All() {
		names = append(names, r.Name)
	}
	return names
}

// offered is what a host offers. What it does not is told to log.
func (s presetSettings) offered(registry registrar, log *slog.Logger) (*runner.Registry, error) {
	k, err := s.look(registry)
	if err != nil {
		return nil, err
	}
	for _, l := range k.broken {
		log.Error("preset is not available", "preset", l.Runner.Name, "file", l.File, "reason", strings.Join(explained(l), "; "))
	}
	for _, r := range k.all.All() {
		switch reason := k.reason[r.Name]; {
		case reason == "":
		case k.source[r.Name] != "" && !slices.Contains(s.Off, r.Name):
			log.Warn("preset is not available", "preset", r.Name, "reason", reason)
		default:
			log.Info("preset is not available", "preset", r.Name, "reason", reason)
		}
	}
	return k.offered(), nil
}

// offered are those that are offered; of the others the registry knows why not.
func (k presets) offered() *runner.Registry {
	reasons := maps.Clone(k.reason)
	for _, l := range k.broken {
		if _, there := k.all.Lookup(l.Runner.Name); !there && l.Runner.Name != "" {
			reasons[l.Runner.Name] = strings.Join(explained(l), "; ")
		}
	}
	g := k.all.Only(func(r runner.Registration) bool { return k.reason[r.Name] == "" })
	g.Without(reasons)
	return g
}

// explained is what is wrong with a file, as compilers say it: file:line:column.
func explained(l preset.Loaded) (lines []string) {
	if path, ok := errors.AsType[*fs.PathError](l.Err); ok { // which names the file once more
		return []string{l.File + ": " + path.Err.Error()}
	}
	mistakes, ok := errors.AsType[preset.Mistakes](l.Err)
	if !ok {
		return []string{l.File + ": " + l.Err.Error()}
	}
	for _, m := range mistakes {
		lines = append(lines, l.File+":"+m.String())
	}
	return lines
}
