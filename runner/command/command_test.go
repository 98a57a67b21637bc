package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner/command"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	really := map[string]phonebooth.Outcome{"exit 7": phonebooth.OutcomeDone, "exit 5": phonebooth.OutcomeAbandoned, "exit 1": phonebooth.OutcomeFailed}
	for name, c := range map[string]command.Config{
		"the goal by the environment": {Argv: []string{"sh", "-c", `eval "$PHONEBOOTH_GOAL"`}, ExitCodes: map[int]string{7: "done", 5: "device_lost"}},
		"the goal by an argument":     {Argv: []string{"sh", "-c", `eval "$1"`, "--", "{goal}"}, ExitCodes: map[int]string{7: "done", 5: "try_again"}},
	} {
		c.Name = "mine"
		r, err := command.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { runnertest.Run(t, runnertest.Harness{Registration: r, Really: really}) })
	}
}

func TestC40_GoalsArriveUnharmed(t *testing.T) {
	t.Parallel()
	same := map[string]phonebooth.Outcome{}
	for _, goal := range runnertest.Goals() {
		same[goal] = phonebooth.OutcomeDone
	}
	r, err := command.New(command.Config{
		Name: "compare", Argv: []string{"sh", "-c", `[ "$1" = "$PHONEBOOTH_GOAL" ] && [ "$#" = 2 ] && [ "$2" = end ]`, "--", "{goal}", "end"},
	})
	if err != nil {
		t.Fatal(err)
	}
	runnertest.Run(t, runnertest.Harness{Registration: r, Really: same})
}

func TestNewNamesTheBadSetting(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]command.Config{
		"argv":       {},
		"stop":       {Argv: []string{"x"}, Stop: "KILL"},
		"grace":      {Argv: []string{"x"}, Grace: time.Hour},
		"exit_codes": {Argv: []string{"x"}, ExitCodes: map[int]string{3: "nonsense"}},
		"variable":   {Argv: []string{"x"}, Env: map[string]string{"PHONEBOOTH_GOAL": "x"}},
	} {
		c.Name = "mine"
		if _, err := command.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want it to name %s", c, err, want)
		}
	}
}
