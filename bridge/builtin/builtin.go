// Package builtin is the list of bridges that ship with Phonebooth. It is nothing but the list: a program that offers others
// too registers them in what [Registry] returns.
package builtin

import (
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver"
)

// Registry is a new registry with everything that ships.
func Registry() (*bridge.Registry, error) {
	g := &bridge.Registry{}
	for name, open := range map[string]bridge.Open{"adb": adb.Open, "sim": sim.Open, "webdriver": webdriver.Open} {
		if err := g.Register(name, open); err != nil {
			return nil, err
		}
	}
	return g, nil
}
