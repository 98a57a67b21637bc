package builtin_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/bridge/builtin"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver/webdrivertest"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// settings make each bridge that ships see a device.
var settings = map[string]func(t *testing.T) bridge.Settings{
	"webdriver": func(t *testing.T) bridge.Settings {
		webdrivertest.Need(t)
		return bridge.Settings{"devices": "2"}
	},
	"sim": func(*testing.T) bridge.Settings { return bridge.Settings{"devices": "2"} },
	"adb": func(t *testing.T) bridge.Settings {
		srv := adbtest.NewServer(t)
		srv.Connect(t, simdevice.New(simdevice.Options{}))
		return bridge.Settings{"server": srv.Addr(), "start": "no"}
	},
}

func TestContract(t *testing.T) {
	t.Parallel()
	g, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range g.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			make, ok := settings[name]
			if !ok {
				t.Fatalf("no settings to check bridge %s with", name)
			}
			bridgetest.Run(t, bridgetest.Harness{New: func(t *testing.T) bridge.Bridge {
				b, err := g.New(name, make(t))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}})
		})
	}
}
