package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ban keeps an import out of the house, or in a few rooms of it. It binds tests only if
// it says so: a test, or a kit for tests, may look behind the curtain.
type ban struct {
	imports []string // paths; each stands for all below it if it ends in "/..."
	only    []string // packages that may; nil: none
	in      []string // packages that may not, if only a few may not; nil: all
	tests   bool
	why     string
}

var bans = []ban{
	{imports: []string{"log"}, tests: true, why: "logs are log/slog, given to the constructor"},
	{imports: []string{"github.com/pkg/errors"}, tests: true, why: "errors are wrapped with %w"},
	{imports: []string{"encoding/gob", "plugin", "unsafe"}, tests: true, why: "not in this house"},
	{imports: []string{"math/rand"}, tests: true, why: "math/rand/v2 for chance, crypto/rand for what must not be guessed"},
	{
		imports: []string{"database/sql", "github.com/jackc/...", "github.com/ncruces/...", "github.com/pressly/goose/..."},
		only:    []string{"internal/store/sqlstore/..."},
		why:     "SQL is the store's own affair",
	},
	{
		imports: []string{"github.com/danielgtaylor/huma/..."},
		only:    []string{"internal/httpapi/..."},
		why:     "huma is known to internal/httpapi alone",
	},
	{
		imports: []string{"github.com/spf13/...", "charm.land/..."},
		only:    []string{"cli/...", "cmd/phonebooth"},
		why:     "the terminal is cli's affair",
	},
	{
		imports: []string{"github.com/modelcontextprotocol/..."},
		only:    []string{"internal/mcp"},
		why:     "the protocol of AI agents is known to internal/mcp alone",
	},
	{
		imports: []string{"github.com/prometheus/..."},
		only:    []string{"internal/telemetry"},
		why:     "figures are noted through telemetry.Metrics",
	},
	{
		imports: []string{"os/exec"},
		only: []string{
			"runner/service", "bridge/adb", "bridge/webdriver", "internal/adb/...", "internal/agent/...",
			"internal/playground/...", "cli",
		},
		why: "processes are started in few places, which know how to end them",
	},
	{
		imports: []string{"net/http", "net/http/..."},
		in: []string{
			".", "strategy/...", "workflow", "internal/lifecycle", "internal/store/...", "internal/ledger",
			"internal/control", "internal/scheduler", "internal/sweep",
		},
		why: "use cases and decisions know nothing of HTTP",
	},
	{
		imports: []string{"os", "io/fs", "net", "net/http", "database/sql", "context", "log/slog", "sync", "math/rand/v2"},
		in:      []string{"internal/lifecycle"},
		why:     "the state machine is pure: rows and a time in, a Change out",
	},
	{
		imports: []string{module + "/internal/adb", module + "/bridge/adb"},
		in:      []string{"internal/agent/..."},
		why:     "the agent knows bridges by their contract only",
	},
}

// covers tells whether a pattern of the tables stands for name.
func covers(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		dir, below := strings.CutSuffix(p, "/...")
		return dir == name || below && strings.HasPrefix(name, dir+"/")
	})
}

func (b ban) forbids(s source, imported string) bool {
	forTests := s.test || isTestKit(s.pkg)
	if !covers(b.imports, imported) || (forTests && !b.tests) {
		return false
	}
	if b.in != nil {
		return covers(b.in, s.pkg)
	}
	return !covers(b.only, s.pkg)
}

func checkBans(sources []source) []string {
	var offences []string
	for _, s := range sources {
		for _, imported := range s.imports() {
			for _, b := range bans {
				if b.forbids(s, imported) {
					offences = append(offences, fmt.Sprintf("%s imports %s: %s", s.path, imported, b.why))
				}
			}
		}
	}
	return offences
}

func TestBannedImports(t *testing.T) {
	t.Parallel()
	report(t, checkBans(house(t)))
}

func TestPlantedBannedImportsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, imports, want string }{
		{"internal/ledger/a.go", "log", "log/slog"},
		{"internal/ledger/a_test.go", "log", "log/slog"},
		{"internal/ledger/a.go", "log/slog", ""},
		{"cli/a.go", "github.com/pkg/errors", "%w"},
		{"internal/blob/a.go", "encoding/gob", "not in this house"},
		{"internal/ledger/a.go", "database/sql", "store's own"},
		{"internal/ledger/a_test.go", "database/sql", ""},
		{"internal/store/sqlstore/a.go", "database/sql", ""},
		{"internal/store/storetest/a.go", "database/sql", ""},
		{"internal/store/storetest/a.go", "log", "log/slog"},
		{"internal/store/sqlstore/migration/a.go", "github.com/pressly/goose/v3", ""},
		{"internal/control/a.go", "github.com/danielgtaylor/huma/v2", "internal/httpapi alone"},
		{"internal/httpapi/a.go", "github.com/danielgtaylor/huma/v2/adapters/humago", ""},
		{"internal/scheduler/a.go", "net/http", "nothing of HTTP"},
		{"internal/lifecycle/a.go", "os", "pure"},
		{"internal/agent/minder/a.go", "os/exec", ""},
		{"internal/ledger/a.go", "os/exec", "few places"},
		{"internal/agent/a.go", module + "/bridge/adb", "contract only"},
	}
	for _, test := range tests {
		got := checkBans([]source{plant(t, test.path, "package x\nimport _ \""+test.imports+"\"\n")})
		if test.want == "" {
			expect(t, got)
		} else {
			expect(t, got, test.want)
		}
	}
}
