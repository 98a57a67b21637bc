package preset

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// junitFile is the report among the artifacts.
const junitFile = "junit.xml"

// maxNamed is how many broken tests a result names.
const maxNamed = 20

// tally is what the result of a task says of a run of tests.
type tally struct {
	Tests    int      `json:"tests"`
	Passed   int      `json:"passed"`
	Failures int      `json:"failures"`
	Errors   int      `json:"errors"`
	Skipped  int      `json:"skipped"`
	Planned  int      `json:"planned,omitempty"`
	Broken   []string `json:"broken,omitempty"` // the first of them
	JUnit    string   `json:"junit,omitempty"`  // the report's name among the artifacts
}

// readInstrumentation reads the stream of `am instrument -r`, whose exit code says nothing, and leaves a JUnit report.
func readInstrumentation(e runner.End) (phonebooth.Report, bool) {
	if e.Log == nil {
		return runner.Failed("runner_failed", fmt.Sprintf("nobody knows how the tests went: their output is not whole, or longer than %d MiB", runner.MaxReadLog>>20)), true
	}
	s, err := readStream(e.Log)
	if err != nil {
		return runner.Failed("runner_failed", "the output of the tests cannot be read"), true
	}
	if !s.begun {
		if e.Code != 0 {
			return phonebooth.Report{}, false
		}
		return runner.GivenBack("device_lost", "the tests did not begin, and nobody said why"), true
	}
	s.settle()
	report := s.judge(e.Code)
	junit := s.junit()
	t := s.tally(junit)
	if err := junit.save(filepath.Join(e.Place.Artifacts, junitFile)); err == nil {
		t.JUnit = junitFile
	}
	if result, err := json.Marshal(t); err == nil {
		report.Result = result
	}
	report.Failure.Message = runner.Clean(report.Failure.Message, runner.MaxMessageBytes)
	return report, true
}

// judge says how the run went.
func (s *instrumented) judge(exit int) phonebooth.Report {
	broken, first := s.unhappy, "one that is not listed"
	for _, t := range s.tests {
		if !t.broken() {
			continue
		}
		if broken++; broken == s.unhappy+1 {
			first = t.title()
		}
	}
	total := len(s.tests) + s.unlisted
	failed := func(format string, args ...any) phonebooth.Report {
		return runner.Failed("runner_failed", fmt.Sprintf(format, args...))
	}
	switch {
	case s.refusal != "":
		return failed("the phone has no instrumentation %s", s.refusal)
	case s.aborted:
		return runner.GivenBack("try_again", "the phone's system crashed under the tests")
	case !s.ended && exit == 0:
		return runner.GivenBack("device_lost", fmt.Sprintf("the stream of the tests broke off after %d of %d", total, max(s.planned, total)))
	case !s.ended:
		return failed("the tests ended with exit code %d before they were through", exit)
	case s.crash != "":
		return failed("the tests crashed after %d of %d: %s", total, max(s.planned, total), s.crash)
	case broken > 0:
		return failed("%d of %d tests failed, the first is %s", broken, total, first)
	case s.planned > total:
		return failed("only %d of %d tests ran", total, s.planned)
	case total == 0:
		return failed("no test ran")
	}
	return phonebooth.Report{Outcome: phonebooth.OutcomeDone}
}

func (s *instrumented) tally(r suite) tally {
	t := tally{Tests: r.Tests + s.unlisted, Failures: r.Failures, Errors: r.Errors + s.unhappy, Skipped: r.Skipped, Planned: s.planned}
	t.Passed = t.Tests - t.Failures - t.Errors - t.Skipped
	for _, one := range s.tests {
		if one.broken() && len(t.Broken) < maxNamed {
			t.Broken = append(t.Broken, one.title())
		}
	}
	return t
}

// title is the test's name for people.
func (t test) title() string { return runner.Clean(t.class+"#"+t.name, 500) }
