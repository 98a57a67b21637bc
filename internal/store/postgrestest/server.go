package postgrestest

import (
	"context"
	"testing"
)

// Server is a PostgreSQL for one test, which may take it away and bring it back. Its
// DSN stays the same all the while. Its methods are for the test's own goroutine, one
// at a time: they end the test when something goes wrong.
type Server struct {
	t testing.TB
	c *cluster
}

// New starts a server of t's own, which is removed when t ends. It costs about two
// seconds: a test that never stops its server takes DSN instead. Settings are those of
// postgresql.conf, as "name=value".
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	c, err := newCluster(t.Context(), settings)
	need(t, err)
	t.Cleanup(c.remove)
	return &Server{t: t, c: c}
}

// DSN returns a URL that leads to the server's empty public schema.
func (s *Server) DSN() string { return s.c.dsn("public") }

// Stop shuts the server down in order: transactions are rolled back, clients are told,
// and connecting is refused from now on. It does nothing to a server that is down.
func (s *Server) Stop() { s.c.signal(stopFast) }

// Kill ends the server as a crash does: at once, in the middle of whatever it did,
// leaving recovery to the next start. What it had committed is still there then. It
// does nothing to a server that is down.
func (s *Server) Kill() { s.c.signal(stopAtOnce) }

// Restart brings the server back after Stop or Kill, with the same data and DSN, and
// returns when it answers. A server that is up is stopped first.
func (s *Server) Restart() {
	s.t.Helper()
	s.c.signal(stopFast)
	need(s.t, s.c.start(context.WithoutCancel(s.t.Context())))
}
