package fake_test

import (
	"os"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fake.Verb {
		os.Exit(fake.Main())
	}
	os.Exit(m.Run())
}

func TestContract(t *testing.T) {
	t.Parallel()
	r, err := fake.Registration("sim")
	if err != nil {
		t.Fatal(err)
	}
	runnertest.Run(t, runnertest.Harness{Registration: r, Really: map[string]phonebooth.Outcome{
		"print a; sleep 0.01; print b": phonebooth.OutcomeDone,
		"exit 3":                       phonebooth.OutcomeFailed,
		"exit 75; hang":                phonebooth.OutcomeAbandoned,
		"ignore-signals; exit 0":       phonebooth.OutcomeDone,
		"open Settings; then exit 3":   phonebooth.OutcomeDone, // no script: pretended
	}})
}
