package agent_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// wallReaders are the functions of the host side that may call time.Now, and why that is no matter of lease time.
var wallReaders = map[string]string{
	"claim.go ask":          "how quickly an answer came, by the runtime's monotonic reading",
	"drive.go dispatched":   "PHONEBOOTH_DEADLINE, for the runner to read; the host keeps the timeout itself",
	"minder/follow.go lost": "Exit.Wall, for people",
	"minder/main.go exit":   "Exit.Wall, for people",
	"devicelog.go Write":    "when a command passed, for people",
	"tail/tail.go line":     "when an event was read, for people",
	"minder/hunt.go run":    "how long killing takes, by the runtime's monotonic reading",
	"minder/start.go send":  "an I/O deadline, by the runtime's monotonic reading",
}

// The wall clock of a test cannot be set without setting that of the machine. So this shows that nothing could tell: no
// clock time crosses the wire between agent and control plane in either direction, and the host side reads its wall clock
// for people only. That lease time is what it goes by instead is shown by C50, where that alone leaps.
func TestC11_AWallClockThatIsWrongChangesNothing(t *testing.T) {
	t.Parallel()
	for _, message := range []any{
		v1.IncarnationRequest{},
		v1.IncarnationAnswer{},
		v1.InventoryRequest{},
		v1.InventoryAnswer{},
		v1.ClaimRequest{},
		v1.ClaimAnswer{},
		v1.RenewalRequest{},
		v1.RenewalAnswer{},
		v1.ReportRequest{},
		v1.ReportAnswer{},
		v1.LogAnswer{},
	} {
		if path := clockTimeIn(reflect.TypeOf(message)); path != "" {
			t.Errorf("%T carries a clock time: %s", message, path)
		}
	}
	unused := maps.Clone(wallReaders)
	for _, dir := range []string{".", "minder", "tail", "../../dispatch", "../../workflow", "../../runner"} {
		for _, at := range callsOf(t, dir, "Now", "Since", "Until") {
			if wallReaders[at] == "" {
				t.Errorf("%s reads the wall clock, want lease time: Options.Now", at)
			}
			delete(unused, at)
		}
	}
	for at := range unused {
		t.Errorf("%s does not read the wall clock any more: take it off the list", at)
	}
	for _, at := range callsOf(t, "../lifecycle", "Now", "Since", "Until") {
		t.Errorf("lifecycle/%s reads a clock, want it to be told the time", at)
	}
}

// clockTimeIn is where a time.Time is in what a message holds, "" if nowhere.
func clockTimeIn(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return clockTimeIn(of.Elem())
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return of.String()
		}
		for field := range of.Fields() {
			if path := clockTimeIn(field.Type); path != "" {
				return field.Name + " " + path
			}
		}
	}
	return ""
}

// callsOf lists the functions in dir that call one of the named functions of package time, each with its file.
func callsOf(t *testing.T, dir string, names ...string) (callers []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(names, sel.Sel.Name) {
						callers = append(callers, filepath.ToSlash(path)+" "+f.Name.Name)
					}
				}
				return true
			})
		}
	}
	return callers
}
