package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func TestTheFirstRunnerOfADriverTypeIsItsDefault(t *testing.T) {
	t.Parallel()
	var g runner.Registry
	for _, r := range []runner.Registration{
		{Name: "phones", Drivers: []string{"android", "ios"}}, {Name: "androids", Drivers: []string{"android"}}, {Name: "everything"},
	} {
		r.Fence, r.Runner = "process", runner.Program{Argv: []string{"true"}}
		if err := g.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := g.Offers("android"), []string{"phones", "androids", "everything"}; !slices.Equal(got, want) {
		t.Errorf("offers for android = %q, want %q", got, want)
	}
	for _, c := range []struct{ driver, name, want string }{
		{"android", "", "phones"},
		{"android", "androids", "androids"},
		{"webdriver", "", "everything"},
		{"ios", "androids", ""},
		{"android", "nope", ""},
	} {
		r, err := g.Choose(c.driver, c.name)
		if r.Name != c.want || c.want == "" && phonebooth.CodeOf(err) != "unknown_runner" {
			t.Errorf("Choose(%s, %q) = %q, %v, want %q", c.driver, c.name, r.Name, err, c.want)
		}
	}
	if _, err := g.Choose("ios", "nope"); err == nil || !strings.Contains(err.Error(), "phones, everything") {
		t.Errorf("the refusal is %v, want the known names in it", err)
	}
}

func TestRegisterRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	var g runner.Registry
	good := runner.Registration{Name: "good", Fence: "process", Runner: runner.Program{Argv: []string{"true"}}}
	if err := g.Register(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*runner.Registration){
		"taken":     func(*runner.Registration) {},
		"name":      func(r *runner.Registration) { r.Name = "two words" },
		"no runner": func(r *runner.Registration) { r.Name, r.Runner = "other", nil },
		"fence":     func(r *runner.Registration) { r.Name, r.Fence = "other", "wall" },
	} {
		bad := good
		spoil(&bad)
		if err := g.Register(bad); err == nil {
			t.Errorf("%s: registered, want it refused", name)
		}
	}
}

func TestProgramRefusesAGoalThatCouldBeAnOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv []string
		ok   bool
	}{
		{[]string{"run", "--", "{goal}"}, true},
		{[]string{"run", "--goal={goal}"}, true},
		{[]string{"run", "{goal}"}, false},
		{[]string{"{goal}"}, false},
		{[]string{""}, false},
		{nil, false},
		{[]string{"run", "a\x00b"}, false},
	} {
		if err := (runner.Program{Argv: c.argv}).Validate(); (err == nil) != c.ok {
			t.Errorf("%q: %v, want ok = %v", c.argv, err, c.ok)
		}
	}
	for _, entry := range []string{"NOVALUE", "=x", "PHONEBOOTH_GOAL=x", "A=\x00"} {
		if (runner.Program{Argv: []string{"run"}, Env: []string{entry}}).Validate() == nil {
			t.Errorf("variable %q was taken, want it refused", entry)
		}
	}
}

func TestUntilBeginsNothingWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	begun := false
	next := func(context.Context, runner.Work) runner.Ended { begun = true; return runner.Ended{} }
	now := func() time.Duration { return time.Minute }
	if r := runner.Until(next, now, time.Minute, runner.TimedOut)(t.Context(), runner.Work{Step: 2}); begun || r.Failure.Code != "timeout" {
		t.Errorf("begun: %v, ended with %q; want a timeout and no beginning", begun, r.Failure.Code)
	}
}

func TestProgramRefusesAGoalThatItCannotCarry(t *testing.T) {
	t.Parallel()
	p := runner.Program{Argv: []string{"run", "--goal={goal}"}, MaxGoal: 4}
	if c, err := p.Command(runner.Work{Goal: "four"}); err != nil || c.Argv[1] != "--goal=four" {
		t.Errorf("got %+v, %v, want the goal of four bytes taken", c, err)
	}
	if _, err := p.Command(runner.Work{Goal: "fives"}); phonebooth.CodeOf(err) != "invalid_task" {
		t.Errorf("got %v, want invalid_task", err)
	}
}

func TestUntilEndsAtTheDueTimeAlsoWhenTheClockLeaps(t *testing.T) {
	t.Parallel()
	for name, leap := range map[string]time.Duration{"in its own time": 0, "after a sleep of the machine": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			now := func() time.Duration {
				at := time.Since(start)
				if at >= time.Second {
					at += leap
				}
				return at
			}
			wait := func(ctx context.Context, _ runner.Work) runner.Ended {
				<-ctx.Done()
				return runner.Ended{Report: runner.DidOf(ctx).Report()}
			}
			report := runner.Until(wait, now, time.Minute, runner.TimedOut)(t.Context(), runner.Work{})
			if report.Failure.Code != "timeout" {
				t.Errorf("%s: ended with %q, want timeout", name, report.Failure.Code)
			}
			want := time.Minute
			if leap > 0 {
				want = time.Second + 250*time.Millisecond
			}
			if took := time.Since(start); took > want {
				t.Errorf("%s: ended after %v, want at most %v", name, took, want)
			}
		})
	}
}

func TestARunnerThatIsUsedByNameOnlyIsNoDefault(t *testing.T) {
	t.Parallel()
	var g runner.Registry
	for _, r := range []runner.Registration{{Name: "shell", OnlyByName: true}, {Name: "phones", Drivers: []string{"android"}}} {
		r.Fence, r.Runner = "gate", runner.Program{Argv: []string{"true"}}
		if err := g.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := g.Offers("android"), []string{"phones", "shell"}; !slices.Equal(got, want) {
		t.Errorf("offers for android = %q, want the default first: %q", got, want)
	}
	if r, err := g.Choose("ios", "shell"); r.Name != "shell" {
		t.Errorf("by its name: %q, %v, want it", r.Name, err)
	}
	if r, err := g.Choose("ios", ""); phonebooth.CodeOf(err) != "unknown_runner" || !strings.Contains(err.Error(), "no default runner for ios devices; it has: shell") {
		t.Errorf("without a name: %q, %v, want it refused with what there is", r.Name, err)
	}
}

func TestWhatIsLeftOutGuardsNothing(t *testing.T) {
	t.Parallel()
	input := map[string]runner.Value{"config": {}, "file": {}}
	for _, c := range []struct {
		name     string
		argv     []string
		optional []runner.Span
		ok       bool
	}{
		{"a guard that is left out", []string{"tool", "--config={with.config}", "--", "{goal}"}, []runner.Span{{From: 1, To: 3}}, false},
		{"a guard that stays", []string{"tool", "--config={with.config}", "--", "{goal}"}, []runner.Span{{From: 1, To: 2}}, true},
		{"left out together", []string{"tool", "{with.config}", "--", "{goal}"}, []runner.Span{{From: 1, To: 4}}, true},
	} {
		if err := (runner.Program{Argv: c.argv, Optional: c.optional, Inputs: input}).Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok = %v", c.name, err, c.ok)
		}
	}
	p := runner.Program{Argv: []string{"tool"}, Inputs: input, Service: &runner.Service{Self: "self", Argv: []string{"serve", "{with.file}"}, Ready: "http://127.0.0.1:1/"}}
	if _, err := p.Command(runner.Work{With: map[string]string{"file": "--insecure"}}); phonebooth.CodeOf(err) != "invalid_task" {
		t.Errorf("an option for the service: %v, want it refused", err)
	}
	if _, err := p.Command(runner.Work{With: map[string]string{"file": "a"}}); err != nil {
		t.Error(err)
	}
	for code, want := range map[int]string{78: "runner_misconfigured", 3: "try_again"} {
		p.Other = "try_again"
		end := runner.Exit{Code: code}
		report, ok := p.Parse(runner.End{Exit: end})
		e := runner.Evidence{Exit: end}
		if ok {
			e.Parsed = &report
		}
		if got := runner.Judge(e); got.Failure.Code != want {
			t.Errorf("exit code %d beside a service is %s, want %s", code, got.Failure.Code, want)
		}
	}
}

func TestAnEmptyInputIsOneThatWasLeftOut(t *testing.T) {
	t.Parallel()
	pattern, err := runner.NewPattern("[a-z]+")
	if err != nil {
		t.Fatal(err)
	}
	p := runner.Program{Argv: []string{"tool", "--as={with.name}"}, Inputs: map[string]runner.Value{"name": {Default: "screen", Pattern: pattern}}}
	c, err := p.Command(runner.Work{With: map[string]string{"name": ""}})
	if err != nil || c.Argv[1] != "--as=screen" {
		t.Errorf("%q, %v; want what stands for one that was left out", c.Argv, err)
	}
	if c.With["name"] != "screen" {
		t.Errorf("the program is told of %q, want it told the same", c.With)
	}
}
