package strategy_test

import (
	"iter"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// counting is a lane that counts the devices it yields.
type counting struct {
	strategy.Lane
	looks *int
}

func (c counting) Devices() iter.Seq[phonebooth.Device] { return c.count(c.Lane.Devices()) }

func (c counting) DevicesAfter(id phonebooth.DeviceID) iter.Seq[phonebooth.Device] {
	return c.count(c.Lane.DevicesAfter(id))
}

func (c counting) count(devices iter.Seq[phonebooth.Device]) iter.Seq[phonebooth.Device] {
	return func(yield func(phonebooth.Device) bool) {
		for d := range devices {
			*c.looks++
			if !yield(d) {
				return
			}
		}
	}
}
