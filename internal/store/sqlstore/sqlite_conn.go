package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// sqliteConn is one connection with the statements that were prepared on it. It belongs to one goroutine at a time.
type sqliteConn struct {
	conn    *sql.Conn
	dialect *dialect
	stmts   map[string]*sql.Stmt
}

// maxPrepared bounds the statements that a connection keeps; only filters make new ones.
const maxPrepared = 200

func newSQLiteConn(ctx context.Context, db *sql.DB, d *dialect) (*sqliteConn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{conn: conn, dialect: d, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *sqliteConn) close() error {
	return errors.Join(c.forget(), c.conn.Close())
}

func (c *sqliteConn) forget() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	clear(c.stmts)
	return errors.Join(errs...)
}

// transaction runs fn between begin and COMMIT. A cancelled context ends fn, never the COMMIT.
func (c *sqliteConn) transaction(ctx context.Context, begin string, fn func(runner) error) (err error) {
	if err := c.run(ctx, step{text: begin}); err != nil {
		return err
	}
	finished := false
	defer func() {
		if !finished { // also when fn panics. Some errors have already rolled it back: then there is nothing left to do
			_ = c.run(context.WithoutCancel(ctx), step{text: "ROLLBACK"})
		}
	}()
	if err := fn(c); err != nil {
		return err
	}
	err = c.run(context.WithoutCancel(ctx), step{text: "COMMIT"})
	if errors.Is(err, store.ErrUnavailable) {
		// The disk failed under the COMMIT: what it holds now is found out when the file is opened again.
		err = fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
	finished = err == nil
	return err
}

func (c *sqliteConn) run(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if err := c.runOne(ctx, s); err != nil {
			if ctx.Err() != nil && errors.Is(err, sqlite3.INTERRUPT) {
				return ctx.Err()
			}
			return sqliteError(err)
		}
	}
	return nil
}

func (c *sqliteConn) runOne(ctx context.Context, s step) error {
	stmt, err := c.prepare(ctx, s.text)
	if err != nil {
		return err
	}
	args := c.dialect.args(s.args)
	if s.row == nil {
		result, err := stmt.ExecContext(ctx, args...)
		if err != nil || !s.one {
			return err
		}
		n, err := result.RowsAffected()
		return touched(n, err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c *sqliteConn) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[statement]; ok {
		return stmt, nil
	}
	if len(c.stmts) >= maxPrepared {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	stmt, err := c.conn.PrepareContext(ctx, c.dialect.text(statement))
	if err != nil {
		return nil, fmt.Errorf("prepare a statement: %w", err)
	}
	c.stmts[statement] = stmt
	return stmt, nil
}

// touched refuses a write that did not find its row: somebody deleted it since it was loaded.
func touched(n int64, err error) error {
	if err == nil && n != 1 {
		return fmt.Errorf("%w: a row that was to be written is gone", store.ErrConflict)
	}
	return err
}
