package cli

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/playground"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

func (p *program) dev() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything in one process: control plane, host, and every device that adb sees", Args: takes(),
		Long: "Runs a control plane and a Host Agent in one process, on loopback, with SQLite in the data directory. Its token is kept in " +
			"your configuration file, so that phonebooth submit in another terminal just works.\n\n" +
			"What is queued or running survives a stop, and a kill: it goes on at the next start on the same data directory.",
		Example: `phonebooth dev
phonebooth dev --sim 2
phonebooth submit --goal 'print hello; sleep 1' --driver sim --wait`,
	}
	s := defaultDev()
	s.bind(cmd.Flags())
	file := configFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settled(cmd, *file, s, defaultDev(), (*devSettings).bind)
		if err != nil {
			return err
		}
		return p.runDev(cmd, s)
	}
	return cmd
}

// devSettings are the flags of dev, and the keys of its configuration file.
type devSettings struct {
	Data     string        `yaml:"data"`
	Listen   string        `yaml:"listen"`
	Strategy string        `yaml:"strategy"`
	LeaseTTL time.Duration `yaml:"lease_ttl"`
	Host     hostSettings  `yaml:",inline"`
	Logs     logSettings   `yaml:",inline"`
}

func defaultDev() devSettings {
	return devSettings{
		Data: ".phonebooth", Listen: "127.0.0.1:8420", Strategy: strategies.Default, LeaseTTL: lifecycle.DefaultTTL,
		Host: defaultHost(), Logs: defaultLogs(),
	}
}

func (s *devSettings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.Data, "data", s.Data, "directory for everything; one process at a time")
	f.StringVar(&s.Listen, "listen", s.Listen, "loopback address, HOST:PORT")
	f.StringVar(&s.Strategy, "strategy", s.Strategy, "which task gets which device")
	f.DurationVar(&s.LeaseTTL, "lease-ttl", s.LeaseTTL, "after which silence a host has lost a device's lease")
	s.Host.bind(f)
	s.Logs.bind(f)
}

func (p *program) runDev(cmd *cobra.Command, s devSettings) error {
	if s.Data == "" {
		return usage(cmd, "the data directory is missing")
	}
	if err := checkListen(cmd, s.Listen, false, "dev stays on this machine; phonebooth server can listen for others"); err != nil {
		return err
	}
	if s.LeaseTTL <= 0 {
		return usage(cmd, "--lease-ttl must be more than 0, such as 30s")
	}
	bridges, err := s.Host.bridges(p.opts.Bridges)
	if err != nil {
		return cannotStart(cmd, err)
	}
	log := s.Logs.logger(cmd.ErrOrStderr())
	runners, err := s.Host.Presets.offered(p.opts.Runners, log)
	if err != nil {
		return usage(cmd, "%w", err)
	}
	hooks, err := s.Host.Cleanup.hooks()
	if err != nil {
		return usage(cmd, "%w", err)
	}
	secrets, without := s.Host.Secrets.ready(log)
	name, err := hostName("")
	if err != nil {
		name = "dev"
	}
	err = playground.Dev(cmd.Context(), playground.Options{
		Data: s.Data, Listen: s.Listen, Strategies: p.opts.Strategies, Strategy: s.Strategy, LeaseTTL: s.LeaseTTL,
		Bridges: bridges, Runners: runners, Secrets: secrets, Without: without, Cleanup: hooks, HostName: name, Version: p.opts.Version, Log: log,
		Ready: func(url, token string) {
			say(cmd, "phonebooth dev: %s, data in %s", url, s.Data)
			if err := remember(url, token); err != nil {
				say(cmd, "the token could not be kept in your configuration file: %v", err)
				say(cmd, "give it yourself: --server %s --token-file %s/admin.token", url, s.Data)
			}
			say(cmd, "dashboard: %s in a browser; sign in with the token in %s", url, filepath.Join(s.Data, auth.AdminTokenFile))
			say(cmd, "in another terminal: phonebooth device list")
			say(cmd, "                     phonebooth submit --goal 'open Settings' --wait")
		},
	})
	if err != nil {
		return cannotStart(cmd, err)
	}
	return nil
}
