package postgrestest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestAbandonedDirectoriesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", shortTempDir(t))
	long := time.Now().Add(-2 * abandonedAfter)
	abandoned := filepath.Join(os.TempDir(), homePattern+"abandoned")
	young := filepath.Join(os.TempDir(), homePattern+"young")
	for _, dir := range []string{abandoned, young} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ownerFile(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := newHome(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{abandoned, held.dir} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}

	removeAbandoned()
	for dir, want := range map[string]bool{abandoned: false, young: true, held.dir: true} {
		if got := exists(dir); got != want {
			t.Errorf("%s exists = %v, want %v", filepath.Base(dir), got, want)
		}
	}
	held.remove()
	if exists(held.dir) {
		t.Error("a removed home is still there")
	}
}

// shortTempDir is short enough for tempDir to take it.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pgt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestMissingProgramsSayWhatToInstall(t *testing.T) {
	t.Setenv("PG_BIN", t.TempDir())
	_, err := findPrograms()
	if err == nil || !strings.Contains(err.Error(), "postgresql-15") {
		t.Errorf("findPrograms() = %v, want an error that names the package", err)
	}
}

// outcome notes how a test would have ended.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (o *outcome) Helper()               {}
func (o *outcome) Skipf(string, ...any)  { o.skipped = true }
func (o *outcome) Fatalf(string, ...any) { o.failed = true }

func TestMissingPostgreSQLFailsInCIOnly(t *testing.T) {
	for ci, want := range map[string]outcome{"true": {failed: true}, "": {skipped: true}} {
		t.Setenv("CI", ci)
		var got outcome
		need(&got, &missingError{"gone"})
		if got != want {
			t.Errorf("CI=%q: %+v, want %+v", ci, got, want)
		}
	}
}
