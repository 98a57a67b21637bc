package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// presetSettings say which runners a host offers beside those that ship, and which of those it does not.
type presetSettings struct {
	Runners []preset.Runner `yaml:"runners"`
	Files   []string        `yaml:"presets"`     // files, and directories of files
	Off     []string        `yaml:"presets_off"` // names
}

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
		own, k.source[r.Name] = append(own, r.Registration), "runners"
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
		log.Error("preset is not available", "file", l.File, "reason", strings.Join(explained(l), "; "))
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
	return k.all.Only(func(r runner.Registration) bool { return k.reason[r.Name] == "" }), nil
}

// explained is what is wrong with a file, as compilers say it: file:line:column.
func explained(l preset.Loaded) (lines []string) {
	mistakes, ok := errors.AsType[preset.Mistakes](l.Err)
	if !ok {
		return []string{l.File + ": " + l.Err.Error()}
	}
	for _, m := range mistakes {
		lines = append(lines, l.File+":"+m.String())
	}
	return lines
}
