// Package servertest runs a whole control plane for a test, on SQLite and on PostgreSQL, behind its real HTTP listener, with
// scripted hosts that speak the agent's protocol.
//
//	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
//		host := sys.Host(t, "h1", servertest.Phone("p1"))
//		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
//		a := host.ClaimOne(t)
//		...
//	})
//
// At the end of each test the invariants of the database are checked. Waits have a generous deadline and never sleep for a
// guess. A System may be used by any number of goroutines of its test.
package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/server"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/store/storetest"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// ShortTTL is the lease of tests that wait for a lease to run out.
const ShortTTL = 6 * time.Second

// patience is how long a wait may take before the test fails: far more than anything here needs.
const patience = 60 * time.Second

// Options choose what a system is like; the zero value is production's numbers.
type Options struct {
	TTL           time.Duration // 0: 30 s
	MaxQueueDepth int
	Strategy      string // "": fifo_match
	NoSweep       bool
	AlwaysPlan    bool // schedule also while another control plane on the same database leads
}

// System is a running control plane.
type System struct {
	opts     Options
	data     string
	database string
	listen   string
	server   *server.Server
	token    string
	stop     func()
}

// Each runs f on both databases with default options.
func Each(t *testing.T, f func(t *testing.T, sys *System)) {
	t.Helper()
	EachWith(t, Options{}, f)
}

// EachWith runs f on both databases, side by side, and beside other tests.
func EachWith(t *testing.T, opts Options, f func(t *testing.T, sys *System)) {
	t.Helper()
	if !strings.Contains(t.Name(), "/") {
		t.Parallel()
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, Start(t, opts, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, Start(t, opts, postgrestest.DSN(t)))
	})
}

// Start runs a control plane on database, "" for SQLite, until the end of the test; then its invariants are checked.
func Start(t *testing.T, opts Options, database string) *System {
	t.Helper()
	if opts.Strategy == "" {
		opts.Strategy = "fifo_match"
	}
	sys := &System{opts: opts, data: t.TempDir(), database: database, listen: "127.0.0.1:0"}
	sys.start(t)
	t.Cleanup(func() {
		sys.Stop()
		sys.checkInvariants(t)
	})
	return sys
}

func (s *System) start(t *testing.T) {
	t.Helper()
	srv, err := server.Open(t.Context(), server.Config{
		Data: s.data, Database: s.database, Listen: s.listen, Strategies: builtin.Registry(), Strategy: s.opts.Strategy,
		LeaseTTL: s.opts.TTL, MaxQueueDepth: s.opts.MaxQueueDepth, NoSweep: s.opts.NoSweep, AlwaysPlan: s.opts.AlwaysPlan, Log: slog.New(slog.DiscardHandler),
		CompareEvery: 250 * time.Millisecond, OnDifference: func(rows int) {
			t.Errorf("the scheduler's index differed from the database in %d rows", rows)
		},
	})
	if err != nil {
		t.Fatalf("open the server: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	s.server, s.token, s.listen = srv, srv.AdminToken(), srv.Addr().String()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("server: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	}
}

// At is a control plane that runs elsewhere, at HOST:PORT, as scripted hosts need it: it can be asked, not stopped.
func At(listen, token string) *System { return &System{listen: listen, token: token} }

// Client is a client of the control plane with the admin token; it is patient while the control plane is away.
func (s *System) Client(t *testing.T) *client.Client {
	t.Helper()
	return s.ClientWith(t, client.Options{Patience: patience})
}

// ClientWith is a client with more to say about it.
func (s *System) ClientWith(t testing.TB, opts client.Options) *client.Client {
	t.Helper()
	c, err := client.New("http://"+s.listen, s.token, opts)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

// Data is the directory of the control plane.
func (s *System) Data() string { return s.data }

// Stop ends the control plane; twice is once.
func (s *System) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// Restart ends the control plane and starts it again on the same database and address.
func (s *System) Restart(t *testing.T) {
	t.Helper()
	s.Stop()
	s.start(t)
}

func (s *System) checkInvariants(t *testing.T) {
	t.Helper()
	database := s.database
	if database == "" {
		database = filepath.Join(s.data, "phonebooth.db")
	}
	st, err := sqlstore.Open(context.Background(), database, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database to check it: %v", err)
	}
	defer st.Close()
	storetest.CheckInvariants(t, st)
}

// Wait polls until done says so. what names what was waited for.
func Wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the test ended while it waited for %s", what)
		}
	}
}

func path(parts ...string) string {
	var s string
	for _, p := range parts {
		s += "/" + p
	}
	return fmt.Sprintf("/v1%s", s)
}
