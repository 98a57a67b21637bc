package cli

import (
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
)

func shippedBridges() *bridge.Registry {
	g := &bridge.Registry{}
	_ = g.Register(bridgeSim, sim.Open)
	return g
}
