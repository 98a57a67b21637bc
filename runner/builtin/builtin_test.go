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
	for _, r := range g.All() {
		t.Run(r.Name, func(t *testing.T) { runnertest.Run(t, runnertest.Harness{Registration: r}) })
	}
}

func TestTheHostsOwnRunnersComeFirst(t *testing.T) {
	t.Parallel()
	own := runner.Registration{Name: "own", Drivers: []string{"sim", "android"}, Fence: "process", Runner: runner.Program{Argv: []string{"true"}}}
	g, err := builtin.Registry(own)
	if err != nil {
		t.Fatal(err)
	}
	for driver, want := range map[string][]string{"sim": {"own", "fake", "shell"}, "android": {"own", "adb-shell", "shell"}, "ios": {"shell"}} {
		if got := g.Offers(driver); !slices.Equal(got, want) {
			t.Errorf("offers for %s = %q, want %q", driver, got, want)
		}
	}
}
