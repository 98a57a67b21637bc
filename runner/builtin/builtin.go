// Package builtin is the list of runners that ship with Phonebooth. It is nothing but the list: a program that offers others
// too registers them in what [Registry] returns. A runner from the host's configuration is registered before or after
// it, as it shall be the default or not.
package builtin

import (
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// Registry is a new registry with first, in order, and everything that ships behind it.
func Registry(first ...runner.Registration) (*runner.Registry, error) {
	pretend, err := fake.Registration("sim")
	if err != nil {
		return nil, err
	}
	g := &runner.Registry{}
	for _, r := range append(append(first[:len(first):len(first)], preset.All()...), pretend) {
		if err := g.Register(r); err != nil {
			return nil, err
		}
	}
	return g, nil
}
