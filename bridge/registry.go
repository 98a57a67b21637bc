package bridge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
)

// Settings are a bridge's part of the host's configuration. Each bridge says which names it knows.
type Settings map[string]string

// Only refuses names that are not among known.
func (s Settings) Only(known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown setting %q; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Open makes a bridge of its settings. It does not talk to anything yet.
type Open func(Settings) (Bridge, error)

// Registry maps names to bridges. Fill it first, then share it: Register must not run at the same time as anything else.
type Registry struct {
	bridges map[string]Open
}

// Register adds a bridge under name. The name becomes a part of every device's identity on its host: it must never change.
func (g *Registry) Register(name string, open Open) error {
	if !phonebooth.ValidName(name) || open == nil {
		return fmt.Errorf("register bridge %q: it needs a name of 1 to 63 letters, digits, dots, underscores and hyphens, and a function", name)
	}
	if _, taken := g.bridges[name]; taken {
		return fmt.Errorf("register bridge %q: the name is taken", name)
	}
	if g.bridges == nil {
		g.bridges = map[string]Open{}
	}
	g.bridges[name] = open
	return nil
}

// New makes the bridge that is registered under name. An unknown name is an error with code unknown_bridge.
func (g *Registry) New(name string, settings Settings) (Bridge, error) {
	open, ok := g.bridges[name]
	if !ok {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "unknown_bridge", "no bridge %q; there are: %s", name, strings.Join(g.Names(), ", "))
	}
	b, err := open(settings)
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", name, err)
	}
	return b, nil
}

// Names lists what is registered, sorted.
func (g *Registry) Names() []string { return slices.Sorted(maps.Keys(g.bridges)) }
