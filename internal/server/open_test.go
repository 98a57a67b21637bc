package server_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/server"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

func TestOpenLeavesNothingOpenWhenSomethingIsWrong(t *testing.T) {
	t.Parallel()
	good := server.Config{Data: t.TempDir(), Listen: "127.0.0.1:0", Strategies: builtin.Registry(), Strategy: builtin.Default}
	for name, c := range map[string]struct {
		change func(*server.Config)
		want   string
	}{
		"no database":        {func(c *server.Config) { c.Database = "postgres://nobody@127.0.0.1:1/x" }, "open the database"},
		"no address":         {func(c *server.Config) { c.Listen = "0.0.0.0:0" }, "not a loopback address"},
		"no strategy (S2.3)": {func(c *server.Config) { c.Strategy = "nope" }, "fifo_match"},
		"unsafe lease":       {func(c *server.Config) { c.LeaseTTL = 1 }, "lease_ttl"},
	} {
		bad := good
		c.change(&bad)
		s, err := server.Open(t.Context(), bad)
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v; want an error about %q", name, s, err, c.want)
		}
	}
	s, err := server.Open(t.Context(), good)
	if err != nil {
		t.Fatalf("the same directory afterwards: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A server that cannot be reached any more must not go on leading.
func TestAServerThatCannotListenAnyMoreEnds(t *testing.T) {
	t.Parallel()
	s, err := server.Open(t.Context(), server.Config{
		Data: t.TempDir(), Listen: "127.0.0.1:0", Strategies: builtin.Registry(), Strategy: builtin.Default, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = s.Close() // its listener, under its feet
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended without saying why")
		}
	case <-time.After(time.Minute):
		t.Error("it goes on without listening")
	}
}
