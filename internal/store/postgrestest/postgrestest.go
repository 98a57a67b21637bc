// Package postgrestest gives tests a private PostgreSQL: no service to set up, no
// port to choose, nothing shared with another test binary.
//
// The usual form is one server for the whole test binary and one schema for each
// test. The server is started by the first test that asks:
//
//	func TestMain(m *testing.M) { postgrestest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		dsn := postgrestest.DSN(t)
//		...
//	}
//
// A test that needs a database to go away asks for a server of its own with New and
// calls Stop, Kill and Restart on it.
//
// Every server listens on a Unix socket in a private directory only. It ends with the
// test process, however that ends (on Linux; elsewhere Main must be reached), and
// Main removes its directory; what a killed process left is removed by the next one
// that starts a server.
//
// The programs are looked for in PG_BIN, then where pg_config says, then where Debian
// puts them. As root, they run as the user postgres. If they are missing the test is
// skipped, or fails when the environment says CI=true.
//
// It is not for production use: fsync is off, so a crash of the machine (not of the
// server) loses data. A benchmark turns it on again: New(t, "fsync=on").
//
// DSN and New may be called by parallel tests, but not inside a testing/synctest
// bubble: the server outlives it.
package postgrestest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
)

// M is what testing.M does, so that Wrap can stand between it and another wrapper.
type M interface{ Run() int }

// Main runs the tests and then stops the shared server. It does not return.
func Main(m M) { os.Exit(Wrap(m).Run()) }

// Wrap is for a TestMain that has another wrapper too: its Run is m's, and stops the
// shared server afterwards.
//
//	goleak.VerifyTestMain(postgrestest.Wrap(m))
func Wrap(m M) M { return stopping{m} }

type stopping struct{ m M }

func (s stopping) Run() int {
	defer shared.remove()
	return s.m.Run()
}

// shared is the one server of this process; see DSN. It is a global because the tests
// of a binary have nothing else in common.
var shared sharedServer

type sharedServer struct {
	mu  sync.Mutex
	c   *cluster
	err error // of the only try to start it
}

func (s *sharedServer) cluster() (*cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil && s.err == nil {
		s.c, s.err = newCluster(context.Background(), nil)
	}
	return s.c, s.err
}

func (s *sharedServer) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		s.c.remove()
		s.c = nil
	}
}

// DSN makes an empty schema on the shared server and returns a URL that leads there:
// its search_path names that schema alone. The schema is dropped when the test ends,
// and a connection that the test left in a transaction then fails it.
func DSN(t testing.TB) string {
	t.Helper()
	c, err := shared.cluster()
	need(t, err)
	schema, err := c.createSchema(t.Context())
	need(t, err)
	t.Cleanup(func() {
		if err := c.dropSchema(context.WithoutCancel(t.Context()), schema); err != nil {
			t.Errorf("postgrestest: %v", err)
		}
	})
	return c.dsn(schema)
}

// need ends the test if err is not nil: as skipped if PostgreSQL is just not installed
// and this is not a CI run.
func need(t testing.TB, err error) {
	t.Helper()
	var missing *missingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		t.Skipf("postgrestest: %v", err)
	default:
		t.Fatalf("postgrestest: %v", err)
	}
}
