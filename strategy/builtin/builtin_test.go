package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

func TestC14_EveryRegisteredStrategyKeepsTheContract(t *testing.T) {
	t.Parallel()
	strategies := builtin.Registry()
	for _, name := range strategies.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Run(t, func() strategy.Strategy {
				s, err := strategies.New(name)
				if err != nil {
					t.Fatal(err)
				}
				return s
			})
		})
	}
}

func TestS3_1_FIFOMatchIsTheDefault(t *testing.T) {
	t.Parallel()
	if builtin.Default != "fifo_match" {
		t.Errorf("the default is %q, want fifo_match", builtin.Default)
	}
	if diff := cmp.Diff([]string{"fifo_match", "priority"}, builtin.Registry().Names()); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

func TestS2_3_AnUnknownStrategyNamesTheKnownOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nope", "", "FIFO_MATCH"} {
		_, err := builtin.Registry().New(name)
		if got := phonebooth.CodeOf(err); got != "unknown_strategy" {
			t.Errorf("New(%q): code %q, want unknown_strategy", name, got)
		}
		want := "unknown_strategy: there is no strategy of that name; the known ones are: fifo_match, priority"
		if err == nil || err.Error() != want {
			t.Errorf("New(%q): got %v, want %s", name, err, want)
		}
	}
}

func TestS3_3_RegistriesShareNothing(t *testing.T) {
	t.Parallel()
	one := builtin.Registry()
	one.Register("mine", func() strategy.Strategy { return nil })
	if _, err := builtin.Registry().New("mine"); err == nil {
		t.Error("a strategy registered in one registry is known to another")
	}
}
