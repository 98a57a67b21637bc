package cli

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/server"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// serverSettings are the flags of server, and the keys of its configuration file.
type serverSettings struct {
	Data           string        `yaml:"data"`
	Database       string        `yaml:"database"`
	Listen         string        `yaml:"listen"`
	Insecure       bool          `yaml:"insecure"`
	TLSCert        string        `yaml:"tls_cert"`
	TLSKey         string        `yaml:"tls_key"`
	AdminTokenFile string        `yaml:"admin_token_file"`
	Strategy       string        `yaml:"strategy"`
	LeaseTTL       time.Duration `yaml:"lease_ttl"`
	MaxQueueDepth  int           `yaml:"max_queue_depth"`
	Retention      time.Duration `yaml:"retention"`
	OutputAge      time.Duration `yaml:"output_retention"`
	OutputLimit    string        `yaml:"output_limit"`
	Logs           logSettings   `yaml:",inline"`
}

func defaultServer() serverSettings {
	return serverSettings{
		Data: "phonebooth-server", Listen: "127.0.0.1:8420", Strategy: strategies.Default, LeaseTTL: lifecycle.DefaultTTL,
		MaxQueueDepth: control.DefaultMaxQueueDepth, Retention: 30 * 24 * time.Hour, Logs: defaultLogs(),
	}
}

func (s *serverSettings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.Data, "data", s.Data, "directory for the database, the admin token and logs; one process at a time")
	f.StringVar(&s.Database, "database", s.Database, "a PostgreSQL database, postgres://USER@HOST/NAME (default: SQLite in the data directory)")
	f.StringVar(&s.Listen, "listen", s.Listen, "address, HOST:PORT")
	f.BoolVar(&s.Insecure, "insecure", s.Insecure, "allow plain HTTP on other addresses than loopback")
	f.StringVar(&s.TLSCert, "tls-cert", s.TLSCert, "certificate file, for HTTPS")
	f.StringVar(&s.TLSKey, "tls-key", s.TLSKey, "key file of the certificate")
	f.StringVar(&s.AdminTokenFile, "admin-token-file", s.AdminTokenFile, "file that holds the admin token (default: one is made in the data directory)")
	f.StringVar(&s.Strategy, "strategy", s.Strategy, "which task gets which device")
	f.DurationVar(&s.LeaseTTL, "lease-ttl", s.LeaseTTL, "after which silence a host has lost a device's lease")
	f.IntVar(&s.MaxQueueDepth, "max-queue-depth", s.MaxQueueDepth, "queued tasks; a submission beyond is refused")
	f.DurationVar(&s.Retention, "retention", s.Retention, "for how long ended tasks are kept")
	f.DurationVar(&s.OutputAge, "output-retention", s.OutputAge, "for how long the logs and artifacts of ended tasks are kept (default: as long as the tasks)")
	f.StringVar(&s.OutputLimit, "output-limit", s.OutputLimit, "how much all logs and artifacts may take, such as 50GiB, or none; beyond it those of the "+
		"tasks that ended first are removed (default: half of the disk)")
	s.Logs.bind(f)
}

func (p *program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "server", Short: "Run a control plane", Args: takes(),
		Long: "Runs a control plane: the queue, the scheduler and the API that agents and clients use. At its first start it makes an admin " +
			"token in the data directory.\n\n" +
			"--config FILE is YAML with the names of the flags, underscores for hyphens: lease_ttl: 30s. Flags go first.\n\n" +
			"A password of --database shows in the process list: give it in the configuration file, or in PGPASSWORD or ~/.pgpass. " +
			"With a certificate that no public authority signed, clients and agents need SSL_CERT_FILE.",
		Example: `phonebooth server --data /var/lib/phonebooth
phonebooth server --listen :8420 --tls-cert tls.crt --tls-key tls.key
phonebooth server --database postgres://phonebooth@db/phonebooth`,
	}
	s := defaultServer()
	s.bind(cmd.Flags())
	file := configFlag(cmd)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(
		p.opts.Strategies.Names(), cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settled(cmd, *file, s, defaultServer(), (*serverSettings).bind)
		if err != nil {
			return err
		}
		return p.runServer(cmd, s)
	}
	return cmd
}

func (p *program) runServer(cmd *cobra.Command, s serverSettings) error {
	if err := s.check(cmd); err != nil {
		return err
	}
	if err := checkListen(cmd, s.Listen, s.Insecure || s.TLSCert != "", "give --tls-cert and --tls-key, or say --insecure if "+
		"something else protects the connection"); err != nil {
		return err
	}
	limit, err := byteLimit(s.OutputLimit)
	if err != nil {
		return usage(cmd, "--output-limit %w", err)
	}
	log := s.Logs.logger(cmd.ErrOrStderr())
	srv, err := server.Open(cmd.Context(), server.Config{
		Data: s.Data, Database: s.Database, Listen: s.Listen, Insecure: s.Insecure, TLSCert: s.TLSCert, TLSKey: s.TLSKey,
		AdminToken: s.AdminTokenFile, Strategies: p.opts.Strategies, Strategy: s.Strategy, LeaseTTL: s.LeaseTTL,
		MaxQueueDepth: s.MaxQueueDepth, Retention: s.Retention, OutputAge: s.OutputAge, OutputBytes: limit, Version: p.opts.Version, Log: log,
	})
	switch {
	case cmd.Context().Err() != nil && err != nil: // it was asked to stop before it had started
		return nil
	case err != nil:
		return cannotStart(cmd, err)
	}
	token := cmp.Or(s.AdminTokenFile, filepath.Join(s.Data, auth.AdminTokenFile))
	address := fromElsewhere(srv.URL(), os.Hostname)
	say(cmd, "phonebooth server: %s", address)
	say(cmd, "dashboard: %s in a browser; sign in with the token in %s", address, token)
	say(cmd, "log in with: phonebooth login %s --token-file %s", address, token)
	log.Info("server started", "url", srv.URL(), "strategy", s.Strategy, "version", p.opts.Version)
	err = srv.Run(cmd.Context())
	err = errors.Join(err, srv.Close())
	if err == nil {
		log.Info("server stopped")
	}
	return err
}

func (s serverSettings) check(cmd *cobra.Command) error {
	switch {
	case s.Data == "":
		return usage(cmd, "the data directory is missing")
	case s.MaxQueueDepth < 1:
		return usage(cmd, "the queue's depth must be at least 1")
	case s.Retention < time.Minute:
		return usage(cmd, "the retention must be a minute at least")
	case s.OutputAge < 0 || s.OutputAge > 0 && s.OutputAge < time.Hour:
		return usage(cmd, "the retention of logs and artifacts must be an hour at least")
	case s.LeaseTTL <= 0:
		return usage(cmd, "the lease's time must be more than nothing; %v is the default", lifecycle.DefaultTTL)
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return usage(cmd, "--tls-cert and --tls-key go together")
	case s.Database == "" && cmd.Flags().Changed("database"):
		return usage(cmd, "--database is empty: give postgres://USER@HOST/NAME, or leave it out for SQLite in the data directory")
	case s.Database != "" && !strings.HasPrefix(s.Database, "postgres://") && !strings.HasPrefix(s.Database, "postgresql://"):
		return usage(cmd, "--database is postgres://USER@HOST/NAME or postgresql://...; leave it out for SQLite in the data directory")
	}
	return nil
}

// fromElsewhere is address with the machine's name where it says "every address": that can be listened on, not called.
func fromElsewhere(address string, hostname func() (string, error)) string {
	u, err := url.Parse(address)
	if err != nil || !net.ParseIP(u.Hostname()).IsUnspecified() {
		return address
	}
	name, err := hostname()
	if err != nil {
		return address
	}
	u.Host = net.JoinHostPort(name, u.Port())
	return u.String()
}

// checkListen refuses an address that is none, and one that others can listen in on unless the connection is protected; hint
// says what to do about that.
func checkListen(cmd *cobra.Command, listen string, protected bool, hint string) error {
	at, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return usage(cmd, "--listen wants HOST:PORT: %w", err)
	}
	if !protected && !at.IP.IsLoopback() {
		return usage(cmd, "%s is not a loopback address, and tokens would cross the network in the clear: %s", clean(listen), hint)
	}
	return nil
}

// cannotStart says what a person can do about a server or an agent that does not start.
func cannotStart(cmd *cobra.Command, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var taken *config.InUseError
	if errors.As(err, &taken) {
		return &failure{status: exitFailed, err: err, next: []string{"stop that one first, or give another directory with --data"}}
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return &failure{status: exitFailed, err: err, next: []string{
			"another phonebooth dev or server may be running there: stop it, or give another address with --listen",
		}}
	}
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok && refusal.Kind == phonebooth.Invalid {
		return usage(cmd, "%s", refusal.Message)
	}
	return &failure{status: exitFailed, err: err}
}

// configFlag gives cmd the flag --config.
func configFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("config", "", "a YAML file with the names of these flags, underscores for hyphens; flags go first")
}

// settled are the settings to run with: those that the flags gave, or the defaults under the file at path under the flags.
// Bind binds flags to settings.
func settled[S any](cmd *cobra.Command, path string, flags, defaults S, bind func(*S, *pflag.FlagSet)) (S, error) {
	if path == "" {
		return flags, nil
	}
	s := defaults
	if err := config.Load(path, &s); err != nil {
		if _, ok := errors.AsType[*config.Error](err); ok {
			return s, err
		}
		return s, usage(cmd, "%w", err)
	}
	top := pflag.NewFlagSet(path, pflag.ContinueOnError)
	bind(&s, top)
	var errs []error
	cmd.Flags().Visit(func(given *pflag.Flag) {
		to := top.Lookup(given.Name)
		if to == nil { // not of the file: --config itself
			return
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			errs = append(errs, to.Value.(pflag.SliceValue).Replace(list.GetSlice()))
			return
		}
		errs = append(errs, to.Value.Set(given.Value.String()))
	})
	return s, errors.Join(errs...)
}
