package builtin_test

import (
	"slices"
	"testing"

	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/builtin"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	g, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	with := map[string]map[string]string{
		"instrumentation": {"component": "org.example.test/androidx.test.runner.AndroidJUnitRunner"}, "maestro": {"flow": "/flows/login.yaml"},
	}
	for _, r := range g.All() {
		t.Run(r.Name, func(t *testing.T) { runnertest.Run(t, runnertest.Harness{Registration: r, With: with[r.Name]}) })
	}
}

func TestTheHostsOwnRunnersComeFirst(t *testing.T) {
	t.Parallel()
	own := runner.Registration{Name: "own", Drivers: []string{"sim", "android"}, Fence: "process", Runner: runner.Program{Argv: []string{"true"}}}
	g, err := builtin.Registry(own)
	if err != nil {
		t.Fatal(err)
	}
	for driver, want := range map[string][]string{
		"sim":     {"own", "fake", "appium-suite", "shell"},
		"android": {"own", "adb-shell", "appium-suite", "instrumentation", "maestro", "mobilerun", "screenshot", "shell"},
		"ios":     {"appium-suite", "maestro", "shell"},
	} {
		if got := g.Offers(driver); !slices.Equal(got, want) {
			t.Errorf("offers for %s = %q, want %q", driver, got, want)
		}
	}
}
