package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"charm.land/fang/v2"

	"github.com/phonebooth-dev/phonebooth/bridge"
	bridges "github.com/phonebooth-dev/phonebooth/bridge/builtin"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/runner"
	runners "github.com/phonebooth-dev/phonebooth/runner/builtin"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
	"github.com/phonebooth-dev/phonebooth/runner/service"
	"github.com/phonebooth-dev/phonebooth/strategy"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// Options are what a custom build may bring. The zero value is what ships.
type Options struct {
	// Strategies that --strategy chooses from; nil: those of strategy/builtin.
	Strategies *strategy.Registry

	// Runners makes the registry of a host. Configured are the runners of the host's configuration file, which shall come
	// first. Nil: runner/builtin's Registry.
	Runners func(configured ...runner.Registration) (*runner.Registry, error)

	// Bridges that a host's configuration chooses from; nil: those of bridge/builtin.
	Bridges *bridge.Registry

	// Version of the program; "": what the build says.
	Version string
}

// withDefaults fills what was left out with what ships.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Strategies == nil {
		o.Strategies = strategies.Registry()
	}
	if o.Runners == nil {
		o.Runners = runners.Registry
	}
	if o.Bridges == nil {
		o.Bridges, err = bridges.Registry()
	}
	if o.Version == "" {
		o.Version = buildVersion()
	}
	return o, err
}

// buildVersion is what the build knows of its source.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return strings.Trim(cmp.Or(info.Main.Version, "unknown"), "()") // a build without version control is "(devel)"
}

// Main runs the verb that the process's arguments name, and returns the status to exit with.
func Main(opts Options) int {
	if len(os.Args) > 1 {
		switch os.Args[1] { // all are the agent's own: nothing may come before them
		case minder.Verb:
			return minder.Main(minder.Options{})
		case fake.Verb:
			return fake.Main()
		case service.Verb:
			return service.Main()
		}
	}
	p := &program{}
	ctx, stop := p.signals.context(context.Background())
	defer stop()

	opts, err := opts.withDefaults()
	if err != nil {
		fmt.Fprintln(os.Stderr, "phonebooth:", err)
		return exitFailed
	}
	p.opts = opts
	err = fang.Execute(ctx, p.root(), fang.WithVersion(p.opts.Version),
		fang.WithErrorHandler(explain))
	return exitCode(err)
}
