package simdevice

import (
	"context"
	"fmt"
	"strings"
)

// TestComponent is the one test package that the phone has, with its runner.
const TestComponent = "org.phonebooth.sim.test/.Runner"

// played are the classes of the test package: how the tests of each go.
var played = map[string][]play{
	"org.phonebooth.sim.Pass":  {{"opens", 0}, {"closes", 0}, {"isLeftOut", -3}},
	"org.phonebooth.sim.Fail":  {{"opens", 0}, {"isGreen", -2}, {"closes", -1}},
	"org.phonebooth.sim.Crash": {{"opens", 0}, {"crashes", crashes}, {"closes", 0}},
	"org.phonebooth.sim.Cut":   {{"opens", 0}, {"isCut", isCut}, {"closes", 0}},
}

// What a test does to the stream instead of ending.
const (
	crashes = 1000 + iota
	isCut
)

// play is one test and the status code that it ends with.
type play struct {
	name string
	code int
}

// am plays `am instrument -w -r [-e class CLASS] COMPONENT`; everything else that it is asked it does without a word.
func am(_ context.Context, sh *shell, args []string) int {
	if len(args) == 0 || args[0] != "instrument" {
		return 0
	}
	class, component := "org.phonebooth.sim.Pass", args[len(args)-1]
	for i := range args {
		if args[i] == "-e" && i+2 < len(args) && args[i+1] == "class" {
			class, _, _ = strings.Cut(args[i+2], "#")
		}
	}
	if component != TestComponent {
		sh.print("INSTRUMENTATION_STATUS: id=ActivityManagerService\n"+
			"INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{%s}\n"+
			"INSTRUMENTATION_STATUS_CODE: -1\n", component)
		_, _ = fmt.Fprintf(sh.stderr, "INSTRUMENTATION_FAILED: %s\n", component) // in am's own name, not the shell's
		return codeUsage
	}
	sh.instrument(class, played[class])
	return 0 // as ever
}

// instrument writes the raw stream of a run of tests.
func (sh *shell) instrument(class string, plays []play) {
	status := func(i int, code int, more string) {
		sh.print("INSTRUMENTATION_STATUS: class=%s\nINSTRUMENTATION_STATUS: current=%d\nINSTRUMENTATION_STATUS: id=AndroidJUnitRunner\n"+
			"INSTRUMENTATION_STATUS: numtests=%d\n%sINSTRUMENTATION_STATUS: test=%s\nINSTRUMENTATION_STATUS_CODE: %d\n",
			class, i+1, len(plays), more, plays[i].name, code)
	}
	for i, p := range plays {
		status(i, 1, "INSTRUMENTATION_STATUS: stream=\n"+class+":\n")
		switch p.code {
		case crashes:
			sh.print("INSTRUMENTATION_RESULT: shortMsg=Process crashed.\nINSTRUMENTATION_CODE: 0\n")
			return
		case isCut:
			return
		case -1, -2:
			status(i, p.code, fmt.Sprintf("INSTRUMENTATION_STATUS: stack=java.lang.AssertionError: expected <green> but was <red>\n\tat %s.%s(Sim.java:7)\n\n", class, p.name))
		default:
			status(i, p.code, "INSTRUMENTATION_STATUS: stream=.\n")
		}
	}
	sh.print("INSTRUMENTATION_RESULT: stream=\n\nTime: 0.1\n\nThe tests have ended\n\nINSTRUMENTATION_CODE: -1\n")
}
