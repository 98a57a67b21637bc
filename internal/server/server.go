// Package server is the control plane as one thing to run: database, ledger, use cases, scheduler, sweep and HTTP API put
// together, and taken apart again in the right order.
//
//	s, err := server.Open(ctx, server.Config{Data: dir, Listen: "127.0.0.1:8420"})
//	defer s.Close()
//	err = s.Run(ctx) // until ctx ends
//
// Open takes the data directory, opens the database and listens, so that its errors are the operator's; Run serves. It
// decides nothing by itself.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/follow"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
	"github.com/phonebooth-dev/phonebooth/internal/leader"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/retention"
	"github.com/phonebooth-dev/phonebooth/internal/scheduler"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/sweep"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
	"github.com/phonebooth-dev/phonebooth/internal/webui"
	"github.com/phonebooth-dev/phonebooth/strategy"
)

// Config says how to run a control plane. Data, Listen and Strategies are required.
type Config struct {
	Data       string // directory for the database, the admin token and logs; one process at a time
	Database   string // "" is SQLite in Data; else postgres://...
	Listen     string // HOST:PORT
	Insecure   bool   // allow plain HTTP on other addresses than loopback
	TLSCert    string // with TLSKey: serve HTTPS
	TLSKey     string
	AdminToken string // file that holds it; "" keeps one in Data

	Strategies *strategy.Registry
	Strategy   string // name of a registered one

	LeaseTTL      time.Duration // 0: 30 s
	MaxQueueDepth int           // 0: 1,000,000
	Retention     time.Duration // of ended tasks; 0: 30 days
	OutputAge     time.Duration // of their logs and artifacts; 0: as long as the tasks
	OutputBytes   int64         // of all logs and artifacts together; 0: half of the disk, -1: no limit
	Version       string
	Log           *slog.Logger

	// For tests: NoSweep leaves out what ends things by time, to look at the moment before; AlwaysPlan schedules also while
	// another replica leads; CompareEvery is how often the scheduler's index is compared with the database, and OnDifference
	// is told when they differed.
	NoSweep      bool
	AlwaysPlan   bool
	CompareEvery time.Duration
	OnDifference func(rows int)
}

// Server is a control plane that listens.
type Server struct {
	lock      *config.Lock
	store     store.Store
	ledger    *ledger.Ledger
	control   *control.Control
	scheduler *scheduler.Scheduler
	follower  *follow.Follower // nil where there are no other replicas
	leader    *leader.Leadership
	sweep     *sweep.Sweep
	retention *retention.Retention
	logs      *blob.Store
	api       *httpapi.Server
	listener  net.Listener
	token     string
	cfg       Config
}

// Open prepares everything that can be wrong. An error leaves nothing open.
func Open(ctx context.Context, cfg Config) (s *Server, err error) {
	if cfg.LeaseTTL == 0 {
		cfg.LeaseTTL = lifecycle.DefaultTTL
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	policy := lifecycle.NewPolicy(cfg.LeaseTTL)
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	strat, err := cfg.Strategies.New(cfg.Strategy)
	if err != nil {
		return nil, err
	}
	s = &Server{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if s.lock, err = config.LockDir(cfg.Data); err != nil {
		return s, err
	}
	if s.token, err = auth.AdminToken(cfg.Data, cfg.AdminToken); err != nil {
		return s, err
	}
	if s.logs, err = blob.Open(filepath.Join(cfg.Data, "logs"), blob.Options{Room: s.hasRoom}); err != nil {
		return s, err
	}
	database := cfg.Database
	if database == "" {
		database = filepath.Join(cfg.Data, "phonebooth.db")
	}
	st, err := sqlstore.Open(ctx, database, sqlstore.Options{})
	if err != nil {
		return s, fmt.Errorf("open the database: %w", err)
	}
	s.store = st
	s.assemble(policy, strat)
	s.listener, err = httpapi.Listen(cfg.Listen, httpapi.ListenOptions{Insecure: cfg.Insecure, CertFile: cfg.TLSCert, KeyFile: cfg.TLSKey})
	return s, err
}

// assemble puts the parts together; nothing runs yet.
func (s *Server) assemble(policy lifecycle.Policy, strat strategy.Strategy) {
	metrics := telemetry.NewMetrics()
	s.ledger = ledger.New(s.store, ledger.Options{
		FreeSpace:    func() bool { return s.hasRoom(0) },
		ObserveBatch: func(n int, _ time.Duration) { metrics.Committed(n) },
		Log:          s.cfg.Log,
	})
	s.control = control.New(s.store, s.ledger, s.logs, control.Options{
		Policy: policy, MaxQueueDepth: s.cfg.MaxQueueDepth,
		ObserveRenewal: metrics.LeaseRenewed, ObserveLost: metrics.LeaseLost,
		Waits: func(ctx context.Context, t phonebooth.Task) (v1.Wait, error) { return s.scheduler.Explain(ctx, t) },
		Lanes: func(limit int) ([]v1.Lane, int) { return s.scheduler.Lanes(limit) },
	})
	s.leader = leader.New(s.store, s.ledger, leader.Options{
		Alone: !s.shared(), Log: s.cfg.Log,
		Observe: func(leads bool) { s.scheduler.SetLeading(leads || s.cfg.AlwaysPlan) },
	})
	s.scheduler = scheduler.New(s.store, s.control.Place, strat, s.cfg.Strategy, scheduler.Options{
		Followed: s.shared(), Standby: true, Tick: s.leader.Tick,
		CompareEvery: s.cfg.CompareEvery, Log: s.cfg.Log,
		OnDifference: func(rows int) {
			metrics.IndexDiffered(rows)
			if s.cfg.OnDifference != nil {
				s.cfg.OnDifference(rows)
			}
		},
	})
	s.ledger.Subscribe(func(c ledger.Commit) { s.scheduler.Apply(c.Change) })
	if s.shared() {
		s.follower = follow.New(s.store, func(c ledger.Commit) {
			s.control.Committed(c)
			s.scheduler.Apply(c.Change)
		}, follow.Options{ObserveMissed: metrics.FoundUnannounced, Log: s.cfg.Log})
		s.ledger.Subscribe(s.follower.Own)
	}
	s.sweep = sweep.New(s.store, s.ledger, s.logs, policy, sweep.Options{
		Retention: s.cfg.Retention, ObserveLost: metrics.LeaseLost, Log: s.cfg.Log,
	})
	s.retention = retention.New(s.store, s.logs, retention.Options{
		Age: s.cfg.OutputAge, Bytes: s.outputLimit(), Tasks: s.cfg.Retention, Log: s.cfg.Log,
	})
	metrics.WatchQueue(func() (int, time.Duration) { return s.scheduler.QueueDepth(), s.scheduler.OldestQueued(time.Now()) })
	tokens := auth.New(s.store, s.token)
	signIns := tokens.SignIns()
	s.api = httpapi.New(s.control, tokens, httpapi.Options{
		Version: s.cfg.Version, Metrics: metrics.Handler(), Log: s.cfg.Log, Cookies: signIns, Pages: webui.New(signIns),
	})
}

// outputLimit is how much logs and artifacts may take together; 0: there is no limit.
func (s *Server) outputLimit() int64 {
	if s.cfg.OutputBytes != 0 {
		return max(s.cfg.OutputBytes, 0)
	}
	total, err := config.TotalSpace(s.cfg.Data)
	if err != nil {
		return 0
	}
	return total / 2
}

// shared says that other replicas may be at the database.
func (s *Server) shared() bool { return s.cfg.Database != "" }

// spareBytes must stay free on the disk: below it submissions are refused, so that reports still find room.
const spareBytes = 64 << 20

// hasRoom says whether that much is free beside so many bytes.
func (s *Server) hasRoom(bytes int64) bool {
	free, err := config.FreeSpace(s.cfg.Data)
	return err != nil || free >= spareBytes+bytes
}

// Addr is the address that it listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is where clients on this machine reach it.
func (s *Server) URL() string {
	if s.cfg.TLSCert != "" {
		return "https://" + s.Addr().String()
	}
	return "http://" + s.Addr().String()
}

// AdminToken is the secret of people and programs.
func (s *Server) AdminToken() string { return s.token }

// Settle waits until the scheduler has acted on everything that was committed before, if this replica leads.
func (s *Server) Settle(ctx context.Context) error {
	select {
	case <-s.leader.Standing():
		return s.scheduler.Idle(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run serves until ctx ends, then answers what is parked, lets running requests end, and stops the rest behind them.
func (s *Server) Run(ctx context.Context) error {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, inner := errgroup.WithContext(inner)
	g.Go(func() error { return s.ledger.Run(inner) })
	if s.follower != nil {
		g.Go(func() error { return s.follower.Run(inner) })
	}
	g.Go(func() error { return s.schedule(inner) })
	if !s.cfg.NoSweep {
		g.Go(func() error { return s.retention.Run(inner) })
	}
	g.Go(func() error {
		defer stop()
		serving, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(inner, end)() // another part has died: do not go on without it
		var leading errgroup.Group
		leading.Go(func() error { return s.stand(serving) })
		err := s.api.Serve(serving, s.listener)
		end()
		return errors.Join(err, leading.Wait()) // the ledger must still take the resignation
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// schedule keeps the index, and plans while this replica leads. What others commit is followed from before the index is read.
func (s *Server) schedule(ctx context.Context) error {
	if s.follower != nil {
		select {
		case <-s.follower.Began():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.scheduler.Run(ctx)
}

// stand has this replica stand for election once it has read what there is to schedule.
func (s *Server) stand(ctx context.Context) error {
	select {
	case <-s.scheduler.Loaded():
		return s.leader.Run(ctx, s.lead)
	case <-ctx.Done():
		return nil
	}
}

// lead does what only the leader does beside scheduling, in one term.
func (s *Server) lead(ctx context.Context, term int64) {
	if s.cfg.NoSweep {
		<-ctx.Done()
		return
	}
	if err := s.sweep.Run(ctx, term); err != nil {
		s.cfg.Log.Error("the sweep has ended", "error", err)
	}
}

// Close gives everything back; after Run, or instead of it.
func (s *Server) Close() error {
	var errs []error
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.logs != nil {
		errs = append(errs, s.logs.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
	}
	return errors.Join(errs...)
}

// Backup writes a consistent copy of the embedded database in dir to path, also while a server runs on it.
func Backup(ctx context.Context, dir, database, path string) error {
	if database == "" {
		database = filepath.Join(dir, "phonebooth.db")
		if _, err := os.Stat(database); err != nil {
			return fmt.Errorf("there is no database to back up: %w", err)
		}
	}
	st, err := sqlstore.Open(ctx, database, sqlstore.Options{})
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return errors.Join(st.Backup(ctx, path), st.Close())
}
