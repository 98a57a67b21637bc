// Package builtin lists the strategies that ship with Phonebooth.
//
// A program with a strategy of its own registers it beside them and hands the registry to the control plane:
//
//	strategies := builtin.Registry()
//	strategies.Register("nearest", nearest.New)
//
// It holds no strategy itself. Each call makes a new registry, so nothing is shared.
package builtin

import (
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
	"github.com/phonebooth-dev/phonebooth/strategy/priority"
)

// Default is the name of the strategy that is used when configuration names none.
const Default = fifomatch.Name

// Registry is a new registry with every strategy that ships.
func Registry() *strategy.Registry {
	var r strategy.Registry
	r.Register(fifomatch.Name, fifomatch.New)
	r.Register(priority.Name, priority.New)
	return &r
}
