package playground_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/playground"
	"github.com/phonebooth-dev/phonebooth/runner/fake"

	runners "github.com/phonebooth-dev/phonebooth/runner/builtin"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// TestMain is also the binary of the minder and of the fake runner, as cmd/phonebooth is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case minder.Verb:
			os.Exit(minder.Main(minder.Options{}))
		case fake.Verb:
			os.Exit(fake.Main())
		}
	}
	os.Exit(m.Run())
}

func TestTheDemoGoesAsTold(t *testing.T) {
	registry, err := runners.Registry()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = playground.Demo(t.Context(), playground.Options{
		Strategies: strategies.Registry(), Strategy: strategies.Default, Runners: registry, Log: slog.New(slog.DiscardHandler),
	}, &out, func() (int, int, bool) { return 0, 0, false })
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"10 done, 1 failed, 1 cancelled", "stopped while it ran", "attempt 2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out.String())
		}
	}
}
