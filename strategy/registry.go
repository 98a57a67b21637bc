package strategy

import (
	"maps"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
)

// Registry maps names to strategies. The zero value is empty and ready for use. It is filled while a program is put
// together and only read afterwards; reading may happen at the same time.
type Registry struct {
	strategies map[string]func() Strategy
}

// Register makes a strategy known under name, the word that configuration selects it by. It panics when the name is taken
// or cannot be a name: both are faults of the program, not of its configuration.
func (r *Registry) Register(name string, create func() Strategy) {
	if !phonebooth.ValidName(name) || create == nil {
		panic("strategy: " + name + " cannot be registered: it needs a name of letters, digits, dots, underscores and hyphens, and a constructor")
	}
	if _, taken := r.strategies[name]; taken {
		panic("strategy: " + name + " is registered twice")
	}
	if r.strategies == nil {
		r.strategies = map[string]func() Strategy{}
	}
	r.strategies[name] = create
}

// New makes the strategy that is registered under name. An unknown name is a [phonebooth.Error] with the code
// unknown_strategy that lists the known ones (spec S2.3); there is no default.
func (r *Registry) New(name string) (Strategy, error) {
	create, ok := r.strategies[name]
	if !ok {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "unknown_strategy",
			"there is no strategy of that name; the known ones are: %s", strings.Join(r.Names(), ", "))
	}
	return create(), nil
}

// Names lists the registered names in alphabetical order.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.strategies)) }
