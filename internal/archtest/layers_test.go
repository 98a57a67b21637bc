package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// floor is a layer of the house: its packages import those of lower floors only, never
// each other.
type floor struct {
	level    int
	packages []string // directories; a last part "*" is any one directory
}

// floors is the plan. Where two lines fit a package, the one without "*" holds.
var floors = []floor{
	{0, []string{"."}},
	{1, []string{
		"api/v1", "strategy", "runner", "bridge", "internal/lifecycle", "internal/blob", "internal/adb",
		"internal/simdevice", "internal/config", "internal/telemetry", "internal/boottime", "internal/fence", "internal/reach",
	}},
	{2, []string{"strategy/*", "runner/*", "bridge/*", "workflow", "client", "internal/store", "internal/taskfile"}},
	{3, []string{
		"strategy/builtin", "runner/builtin", "bridge/builtin", "internal/store/sqlstore", "internal/ledger", "dispatch",
	}},
	{4, []string{"internal/control", "internal/scheduler", "internal/sweep", "internal/auth", "internal/leader", "internal/follow", "internal/retention"}},
	{5, []string{"internal/agent", "internal/httpapi", "internal/webui", "internal/mcp"}},
	{6, []string{"internal/server"}}, // the control plane put together
	{7, []string{"internal/playground"}},
	{8, []string{"cli"}},
	{9, []string{"cmd/phonebooth"}},
}

// families are packages with rooms of their own: the packages in their directories
// stand between them and the floor below. The family's head uses its rooms, the rooms
// use each other, and no room uses its head.
var families = []string{"internal/agent", "internal/store/sqlstore"}

// testKits are packages that only tests import and that are not named after the package
// whose floor they stand on.
var testKits = map[string]int{
	"internal/archtest":           9,
	"internal/store/postgrestest": 0,
	"internal/schematest":         1,
}

// height orders packages: one may import another only if that is lower. There are four
// steps a floor: the rooms of a family, the floor's packages, and their test kits.
func height(pkg string) (int, bool) {
	if level, ok := testKits[pkg]; ok {
		return 4*level + 2, true
	}
	if level, ok := lookUp(pkg); ok && !isTestKit(pkg) {
		return 4 * level, true
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) {
		level, ok := lookUp(dir)
		switch {
		case ok && isTestKit(pkg):
			return 4*level + 2, true
		case ok && slices.Contains(families, dir):
			return 4*level - 1, true
		}
	}
	return 0, false
}

func lookUp(pkg string) (level int, ok bool) {
	for _, f := range floors {
		for _, p := range f.packages {
			if p == pkg {
				return f.level, true
			}
			if dir, any := strings.CutSuffix(p, "/*"); any && dir == path.Dir(pkg) {
				level, ok = f.level, true
			}
		}
	}
	return level, ok
}

// isTestKit tells whether a package is made for tests: storetest stands on the floor of
// store and may import whatever store may, and store itself.
func isTestKit(pkg string) bool {
	_, named := testKits[pkg]
	return named || strings.HasSuffix(path.Base(pkg), "test")
}

// sameRooms tells whether two packages are rooms of one family.
func sameRooms(a, b string) bool {
	return slices.ContainsFunc(families, func(head string) bool {
		return strings.HasPrefix(a, head+"/") && strings.HasPrefix(b, head+"/")
	})
}

func checkLayers(sources []source) []string {
	var offences []string
	for _, s := range sources {
		above, placed := height(s.pkg)
		if !placed {
			offences = append(offences, fmt.Sprintf("package %s is on no floor: give it a line in internal/archtest", s.pkg))
			continue
		}
		if s.test {
			continue // tests may look up; Go itself refuses a circle
		}
		for _, imported := range s.imports() {
			to, ours := inModule(imported)
			if !ours {
				continue
			}
			below, placed := height(to)
			switch {
			case isTestKit(to) && !isTestKit(s.pkg):
				offences = append(offences, fmt.Sprintf("%s imports %s, which is for tests only", s.path, to))
			case placed && below >= above && !sameRooms(s.pkg, to):
				offences = append(offences, fmt.Sprintf("%s imports %s, which is not on a lower floor", s.path, to))
			}
		}
	}
	return offences
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	report(t, checkLayers(house(t)))
}

func TestEveryPackageHasOneFloor(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, f := range floors {
		for _, p := range f.packages {
			if other, twice := seen[p]; twice {
				t.Errorf("%s is on floors %d and %d", p, other, f.level)
			}
			seen[p] = f.level
		}
	}
}

func TestPlantedImportsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, imports, want string }{
		{"down", "internal/ledger/a.go", "internal/store", ""},
		{"up", "internal/store/a.go", "internal/ledger", "not on a lower floor"},
		{"sideways", "internal/scheduler/a.go", "internal/control", "not on a lower floor"},
		{"sideways under a star", "bridge/adb/a.go", "bridge/sim", "not on a lower floor"},
		{"up from the root", "a.go", "internal/lifecycle", "not on a lower floor"},
		{"the root from anywhere", "runner/fake/a.go", ".", ""},
		{"the list of what ships", "bridge/builtin/a.go", "bridge/adb", ""},
		{"no floor", "internal/mystery/a.go", "internal/store", "on no floor"},
		{"no family", "internal/ledger/part/a.go", "internal/store", "on no floor"},
		{"head to room", "internal/agent/a.go", "internal/agent/minder", ""},
		{"room to room", "internal/agent/journal/a.go", "internal/agent/diskmap", ""},
		{"room to head", "internal/agent/journal/a.go", "internal/agent", "not on a lower floor"},
		{"room to a floor below", "internal/agent/journal/a.go", "internal/control", ""},
		{"product to test kit", "internal/ledger/a.go", "internal/store/storetest", "tests only"},
		{"product to named test kit", "internal/ledger/a.go", "internal/store/postgrestest", "tests only"},
		{"test to test kit", "internal/ledger/a_test.go", "internal/store/storetest", ""},
		{"test upward", "internal/store/a_test.go", "internal/store/sqlstore", ""},
		{"test kit to its own", "internal/store/storetest/a.go", "internal/store", ""},
		{"test kit upward", "internal/store/storetest/a.go", "internal/ledger", "not on a lower floor"},
		{"test kit under a star", "strategy/strategytest/a.go", "strategy/fifomatch", "not on a lower floor"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			imported := module
			if test.imports != "." {
				imported += "/" + test.imports
			}
			got := checkLayers([]source{plant(t, test.path, "package x\nimport _ \""+imported+"\"\n")})
			if test.want == "" {
				expect(t, got)
			} else {
				expect(t, got, test.want)
			}
		})
	}
}
