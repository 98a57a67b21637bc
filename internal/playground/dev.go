// Package playground is a whole Phonebooth in one process: a control plane and a host, on loopback, with their data in one
// directory. The verbs dev and demo are made of it.
//
//	err := playground.Dev(ctx, playground.Options{Data: dir, Listen: "127.0.0.1:8420", ...})
//
// It holds nothing that a control plane and a host in two processes would not hold: they talk over HTTP like any others,
// and the runners are processes under minders of their own. What ran when the process died is retried at the next start.
package playground

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/server"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// Options say what to play with. All but the last group are required.
type Options struct {
	Data       string // directory; one process at a time
	Listen     string // HOST:PORT, a loopback address
	Strategies *strategy.Registry
	Strategy   string
	Bridges    map[string]bridge.Bridge // by name
	Runners    *runner.Registry
	HostName   string

	LeaseTTL time.Duration               // 0: 30 s
	Secrets  map[string]telemetry.Secret // of the host, by name
	Without  map[string]string           // secrets that cannot be had, by name: why
	Cleanup  []agent.Hook                // of the host's own, after each attempt
	Version  string
	Log      *slog.Logger // nil: slog.Default
	// Ready is told once where the control plane is and its admin token, before any task is taken. May be nil.
	Ready func(url, token string)

	hosting func(*agent.Agent) // for the demo, which kills one of the agent's runners
}

// Dev runs a control plane and a host until ctx ends.
func Dev(ctx context.Context, opts Options) (err error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	srv, err := server.Open(ctx, server.Config{
		Data: opts.Data, Listen: opts.Listen, Strategies: opts.Strategies, Strategy: opts.Strategy,
		LeaseTTL: opts.LeaseTTL, Version: opts.Version, Log: opts.Log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	home, err := agent.OpenHome(filepath.Join(opts.Data, "agent"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()

	// The host stops first, so that the control plane still hears what it gives back.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, serving := errgroup.WithContext(serving)
	g.Go(func() error { return srv.Run(serving) })
	g.Go(func() error {
		defer stop()
		hosting, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(serving, end)()
		if opts.Ready != nil {
			opts.Ready(srv.URL(), srv.AdminToken())
		}
		return host(hosting, home, srv, opts)
	})
	return g.Wait()
}

// host enrolls, at the first start, and runs the agent.
func host(ctx context.Context, home *agent.Home, srv *server.Server, opts Options) error {
	id, err := enroll(ctx, home, srv, opts.HostName)
	if err != nil {
		return err
	}
	c, err := client.New(srv.URL(), id.Secret.Reveal(), client.Options{})
	if err != nil {
		return err
	}
	a, err := agent.New(home, c.Agent(string(id.HostID)), opts.Bridges, opts.Runners, agent.Options{
		Version: opts.Version, Log: opts.Log, Secrets: opts.Secrets, Without: opts.Without, Cleanup: opts.Cleanup,
		TakeOver: home.Moved(), // a copy of this directory has a control plane of its own: nobody else is this host
	})
	if err != nil {
		return err
	}
	if opts.hosting != nil {
		opts.hosting(a)
	}
	return a.Run(ctx)
}

// enroll makes this machine a host at the first start, and again when somebody removed it from the pool.
func enroll(ctx context.Context, home *agent.Home, srv *server.Server, name string) (agent.Identity, error) {
	admin, err := client.New(srv.URL(), srv.AdminToken(), client.Options{})
	if err != nil {
		return agent.Identity{}, err
	}
	if id, ok := home.Identity(); ok {
		hosts, err := admin.Hosts(ctx)
		if err != nil {
			return id, err
		}
		if slices.ContainsFunc(hosts, func(h v1.Host) bool { return h.ID == string(id.HostID) }) {
			return id, nil
		}
		if err := home.Unenroll(); err != nil {
			return id, err
		}
	}
	token, err := admin.Enrollment(ctx, name)
	if err != nil {
		return agent.Identity{}, fmt.Errorf("enroll this machine: %w", err)
	}
	return home.Enroll(ctx, admin, token.Token, name)
}
