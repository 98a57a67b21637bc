package postgrestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// missingError says that PostgreSQL is not installed, or not in a way that works here.
type missingError struct{ reason string }

func (e *missingError) Error() string {
	return e.reason + "; install PostgreSQL (Debian: apt-get install postgresql-15; `make test` as root does), " +
		"or set PG_BIN to the directory that holds initdb and postgres"
}

// findPrograms returns the directory that holds initdb and postgres.
func findPrograms() (string, error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		if !hasPrograms(dir) {
			return "", &missingError{"PG_BIN holds no initdb and postgres"}
		}
		return dir, nil
	}
	// pg_config comes with the client library too, and then names an empty place.
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); hasPrograms(dir) {
			return dir, nil
		}
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(installed, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range installed {
		if hasPrograms(dir) {
			return dir, nil
		}
	}
	return "", &missingError{"there is no PostgreSQL server on this machine"}
}

// version is the 15 of /usr/lib/postgresql/15/bin, or 0.
func version(bin string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return n
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}
