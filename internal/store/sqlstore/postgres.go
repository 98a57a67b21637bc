package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// postgres is a PostgreSQL that several replicas may share.
type postgres struct {
	pool    *pgxpool.Pool
	dialect *dialect
	ahead   atomic.Int64 // microseconds by which time goes on ahead of a server's clock that was set back
}

// Settings of every connection that the URL does not set otherwise.
var postgresSettings = map[string]string{
	"application_name": "phonebooth",
	// Whatever the server's default: what was answered is on its disk.
	"synchronous_commit": "on",
	// A row that another replica keeps locked for longer is decided about anew.
	"lock_timeout": "2s",
	// A replica that stops in the middle of a transaction gives its locks back.
	"idle_in_transaction_session_timeout": "5s",
	// All statements look rows up by index. Plans are kept with the connection: one that was made while a table was nearly
	// empty must not go on reading all of it when it has a million rows.
	"enable_seqscan": "off",
	// Compiling costs more than any statement of ours; a table that must be read as a whole would look worth it.
	"jit": "off",
}

func openPostgres(ctx context.Context, dsn string) (*postgres, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // the driver's error repeats it, with its password
	}
	for name, value := range postgresSettings {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return &postgres{pool: pool, dialect: newPostgres()}, nil
}

func (p *postgres) words() *dialect { return p.dialect }

func (p *postgres) now(clock, newest int64) int64 {
	if clock >= newest {
		p.ahead.Store(0)
		return clock
	}
	ahead := max(p.ahead.Load(), newest-clock)
	p.ahead.Store(ahead)
	return clock + ahead
}

func (p *postgres) read(ctx context.Context, steps ...step) error {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	r := postgresRunner{conn: conn.Conn(), dialect: p.dialect}
	if len(steps) == 1 {
		return r.run(ctx, steps...)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return r.wrap(ctx, err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // nothing was written
	return r.run(ctx, steps...)
}

func (p *postgres) write(ctx context.Context, fn func(runner) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	r := postgresRunner{conn: conn.Conn(), dialect: p.dialect}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return r.wrap(ctx, err)
	}
	committing := false
	defer func() {
		if !committing { // also when fn panics. Should it not get through, the connection is closed, which does the same
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
	}()
	if err := fn(r); err != nil {
		return err
	}
	committing = true
	return r.wrapCommit(commit(ctx, tx))
}

// commitTimeout is how long the answer to a COMMIT is waited for, also when the caller is gone: to give up earlier would
// only make its outcome unknown.
const commitTimeout = 10 * time.Second

func commit(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return tx.Commit(ctx)
}

func (p *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := p.pool.Acquire(ctx)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// migrations has replicas that start at once take turns. The lock ends with the connection that took it.
func (p *postgres) migrations(ctx context.Context, fn func(*sql.DB) error) error {
	pooled, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	turn := postgresRunner{conn: conn, dialect: p.dialect}
	if err := turn.run(ctx,
		step{text: "SET lock_timeout = '60s'"},
		step{text: "SELECT pg_advisory_lock(hashtext('phonebooth migrations ' || current_schema()))"},
	); err != nil {
		return fmt.Errorf("wait for the migrations of another replica: %w", err)
	}
	db := stdlib.OpenDBFromPool(p.pool)
	return errors.Join(fn(db), db.Close())
}

func (p *postgres) backup(context.Context, string) error {
	return errors.New("a PostgreSQL database is copied with its own tools; use pg_dump, or the backup of whoever runs it")
}

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

// postgresRunner runs steps on one connection.
type postgresRunner struct {
	conn    *pgx.Conn
	dialect *dialect
}

func (r postgresRunner) run(ctx context.Context, steps ...step) error {
	batch := &pgx.Batch{}
	for _, s := range steps {
		q := batch.Queue(r.dialect.text(s.text), r.dialect.args(s.args)...)
		switch {
		case s.row != nil:
			q.Query(func(rows pgx.Rows) error {
				for rows.Next() {
					if err := s.row(rows.Scan); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		case s.one:
			q.Exec(func(tag pgconn.CommandTag) error { return touched(tag.RowsAffected(), nil) })
		}
	}
	return r.wrap(ctx, r.conn.SendBatch(ctx, batch).Close())
}

// wrap finds the word of package store for an error before COMMIT: whatever it is, nothing was written.
func (r postgresRunner) wrap(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if word := postgresWord(err); word != nil {
		return fmt.Errorf("%w: %w", word, err)
	}
	if r.conn.IsClosed() && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// wrapCommit does the same for an error of COMMIT. Only an answer of the database is an answer: if the connection ended
// before it, the transaction may have been written or not.
func (r postgresRunner) wrapCommit(err error) error {
	if err == nil {
		return nil
	}
	word := postgresWord(err)
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	if word == nil || errors.Is(word, store.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", word, err)
}

// postgresWord is the error of package store that an SQLSTATE stands for, or nil.
func postgresWord(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return nil
	}
	switch {
	case pg.Code == "40001", pg.Code == "40P01", pg.Code == "55P03": // serialization, deadlock, lock timeout
		return store.ErrConflict
	case strings.HasPrefix(pg.Code, "23"): // integrity
		return store.ErrConstraint
	case pg.Code == "53100": // disk full
		return store.ErrFull
	case strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "57"), strings.HasPrefix(pg.Code, "58"),
		strings.HasPrefix(pg.Code, "08"), pg.Code == "25P03", pg.Code == "25006":
		// Out of resources, going down or told to stop the statement, trouble with its disk, with the connection, idle for too
		// long, or a standby that has not taken over yet.
		return store.ErrUnavailable
	}
	return nil
}
