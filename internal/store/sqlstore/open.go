package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Options tune a Store; the zero value is production.
type Options struct {
	// Steady is the clock that a SQLite store counts lease time by: it must count suspend and never be set. nil is the
	// machine's. PostgreSQL has a clock of its own.
	Steady func() time.Duration
}

// Store is an open database.
type Store struct {
	engine engine
	close  func() error
}

var _ store.Store = (*Store)(nil)

// Open opens the database that dsn names, postgres://... or the path of a SQLite file, which is made if it is missing; and
// brings its tables up to date. A database of a newer version is refused with [store.ErrNewer] and left as it is.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	if opts.Steady == nil {
		opts.Steady = boottime.Now
	}
	e, err := connect(ctx, dsn, opts)
	if err != nil {
		return nil, err
	}
	if err := e.migrations(ctx, migrate(ctx, e)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return &Store{engine: e, close: sync.OnceValue(e.close)}, nil
}

func connect(ctx context.Context, dsn string, opts Options) (engine, error) {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return openPostgres(ctx, dsn)
	}
	return openSQLite(ctx, dsn, opts.Steady)
}

// Close waits for what is under way and closes the database. Twice is once.
func (s *Store) Close() error { return s.close() }

// Backup writes a consistent copy of a SQLite database to path, which must not exist, while work goes on.
func (s *Store) Backup(ctx context.Context, path string) error { return s.engine.backup(ctx, path) }

// Write runs fn in one write transaction: see [store.Store].
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	return s.engine.write(ctx, func(r runner) error { return fn(&tx{engine: s.engine, runner: r, loaded: store.NewRows()}) })
}

// Now is the store's clock.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.engine.read(ctx, clock(s.engine, &now))
	return now, err
}

// clock reads the clock that leases are counted by. It is never below the time of the newest written head.
func clock(e engine, now *time.Time) step {
	return step{text: "SELECT CLOCK, h.now FROM head h WHERE h.id = 1", row: func(read scanner) error {
		var database, newest int64
		if err := read(number(&database), number(&newest)); err != nil {
			return err
		}
		*now = ofMicros(e.now(database, newest))
		return nil
	}}
}
