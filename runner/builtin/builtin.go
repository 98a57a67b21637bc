// Package builtin is the list of runners that ship with Phonebooth. It is nothing but the list: a program that offers others
// too registers them in what [Registry] returns.
package builtin

import (
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// Registry is a new registry with first, in order, and behind it everything that ships and whose name is not taken by then: so a
// host replaces what ships by its own of the same name.
func Registry(first ...runner.Registration) (*runner.Registry, error) {
	pretend, err := fake.Registration("sim")
	if err != nil {
		return nil, err
	}
	shipped, err := preset.Shipped()
	if err != nil {
		return nil, err
	}
	g := &runner.Registry{}
	for _, r := range first {
		if err := g.Register(r); err != nil {
			return nil, err
		}
	}
	for _, r := range append(shipped, pretend) {
		if _, taken := g.Lookup(r.Name); taken {
			continue
		}
		if err := g.Register(r); err != nil {
			return nil, err
		}
	}
	return g, nil
}
