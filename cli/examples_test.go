package cli_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/phonebooth-dev/phonebooth/cli"
)

// endless are the beginnings of examples that run until they are stopped, or need what a script has not: they are understood
// (TestEveryExampleIsUnderstood), and not run.
var endless = []string{
	"phonebooth agent ", "phonebooth server ", "phonebooth dev ", "phonebooth demo ", "phonebooth simdevice ", "adb ",
	"phonebooth event follow", "phonebooth task list --watch", "phonebooth backup ", "phonebooth doctor ", "phonebooth login https:",
	"phonebooth bench ", "phonebooth mcp ", "phonebooth logout https:",
}

// examples runs what the help texts show, in this order: all that changes nothing first. A submission is made a dry run of
// one. Names in it become those of the script's world: $TASK, $LIVE, which may be cancelled, and $SERVER.
func examples(ts *testscript.TestScript, _ bool, _ []string) {
	shown := cli.ShownLines()
	paths := slices.Sorted(maps.Keys(shown))
	last := []string{"phonebooth task cancel", "phonebooth device release", "phonebooth host remove"}
	paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(last, path) })
	ran := 0
	for _, path := range append(paths, last...) {
		for _, line := range shown[path] {
			if !slices.ContainsFunc(endless, func(begin string) bool { return strings.HasPrefix(line+" ", begin) }) {
				runExample(ts, line)
				ran++
			}
		}
	}
	if ran < 40 {
		ts.Fatalf("%d examples were run, want nearly all", ran)
	}
}

func runExample(ts *testscript.TestScript, line string) {
	task := ts.Getenv("TASK")
	if strings.Contains(line, " cancel ") {
		task = ts.Getenv("LIVE")
	}
	typed := strings.NewReplacer(
		"TASK", task, "PHONE", "sim-2", "emulator-5554", "sim-1", "/etc/phonebooth/presets", "presets", "http://127.0.0.1:8420", ts.Getenv("SERVER"),
	).Replace(line)
	if strings.HasPrefix(line, "phonebooth submit ") && !strings.Contains(line, "--dry-run") {
		typed = strings.NewReplacer(" --wait", "", " --follow", "", " --cancel-on-interrupt", "").Replace(typed) + " --dry-run"
	}
	if strings.HasPrefix(line, "phonebooth workflow ") {
		typed = "cd flows && " + typed
	}
	if err := ts.Exec("sh", "-c", typed); err != nil {
		ts.Fatalf("the example %q, typed as %q, fails: %v", line, typed, err)
	}
}
