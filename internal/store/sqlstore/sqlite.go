package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// sqlite is an embedded database in one file. There is one connection that writes, so that writers queue here and never meet
// SQLite's lock; a few that read; and one that brings the log of the writes into the file: see checkpoint.go.
type sqlite struct {
	path    string
	db      *sql.DB
	dialect *dialect
	writer  chan *sqliteConn
	readers chan *sqliteConn

	wall   atomic.Int64 // microseconds, when the database was opened; raised when it had been later than that already
	opened time.Duration
	steady func() time.Duration

	written   chan struct{} // wakes the checkpoints
	walPages  atomic.Int64  // of the log, after the newest commit
	stop      context.CancelFunc
	finishing sync.WaitGroup
}

// busyTimeout is how long a connection waits for another process: a backup tool, or somebody's shell.
const busyTimeout = 5 * time.Second

func openSQLite(ctx context.Context, path string, steady func() time.Duration) (*sqlite, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	if err := createPrivate(abs); err != nil {
		return nil, err
	}
	db, err := driver.Open(sqliteDSN(abs))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	readers := max(2, min(runtime.NumCPU(), 8))
	s := &sqlite{
		path: abs, db: db, dialect: newSQLite(), writer: make(chan *sqliteConn, 1), readers: make(chan *sqliteConn, readers),
		opened: steady(), steady: steady, written: make(chan struct{}, 1),
	}
	s.wall.Store(time.Now().UnixMicro())
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, sqliteError(err)), db.Close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.finishing.Go(func() { s.checkpoints(background) })
	return s, nil
}

func (s *sqlite) connect(ctx context.Context) error {
	for _, pool := range []chan *sqliteConn{s.writer, s.readers} {
		for range cap(pool) {
			c, err := newSQLiteConn(ctx, s.db, s.dialect)
			if err != nil {
				return err
			}
			if pool == s.writer {
				if err := s.watchLog(c.conn); err != nil {
					return err
				}
			}
			pool <- c
		}
	}
	return nil
}

// createPrivate makes the file if it is not there, readable by its owner only: it holds what people ask of their devices.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return f.Close()
}

func sqliteDSN(path string) string {
	// modeof gives the log beside the file the mode of the file.
	q := url.Values{"_txlock": {"immediate"}, "modeof": {path}}
	for _, pragma := range []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "wal_autocheckpoint(0)", "cache_size(-16000)",
	} {
		q.Add("_pragma", pragma)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}

func (s *sqlite) words() *dialect { return s.dialect }

func (s *sqlite) now(_, newest int64) int64 {
	passed := (s.steady() - s.opened).Microseconds()
	for {
		wall := s.wall.Load()
		if wall+passed >= newest {
			return wall + passed
		}
		// The wall clock was set back while the file was closed; a machine without a battery begins in 1970.
		s.wall.CompareAndSwap(wall, newest-passed)
	}
}

// read runs the steps on one of the reading connections.
func (s *sqlite) read(ctx context.Context, steps ...step) error {
	c, err := take(ctx, s.readers)
	if err != nil {
		return err
	}
	defer func() { s.readers <- c }()
	if len(steps) == 1 {
		return c.run(ctx, steps...)
	}
	return c.transaction(ctx, "BEGIN", func(r runner) error { return r.run(ctx, steps...) })
}

func (s *sqlite) write(ctx context.Context, fn func(runner) error) error {
	c, err := take(ctx, s.writer)
	if err != nil {
		return err
	}
	defer func() { s.writer <- c }()
	if err := c.transaction(ctx, "BEGIN IMMEDIATE", fn); err != nil {
		return err
	}
	select {
	case s.written <- struct{}{}:
	default:
	}
	return nil
}

func take(ctx context.Context, pool chan *sqliteConn) (*sqliteConn, error) {
	select {
	case c, open := <-pool:
		if !open {
			return nil, fmt.Errorf("%w: it is closed", store.ErrUnavailable)
		}
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *sqlite) migrations(ctx context.Context, fn func(*sql.DB) error) error {
	return fn(s.db)
}

// backup writes while readers and the writer go on.
func (s *sqlite) backup(ctx context.Context, path string) error {
	c, err := take(ctx, s.readers)
	if err != nil {
		return err
	}
	defer func() { s.readers <- c }()
	if err := createPrivate(path); err != nil { // VACUUM INTO takes an empty file, and keeps its mode
		return err
	}
	return c.run(ctx, step{text: "VACUUM INTO $1", args: []any{path}})
}

// close waits for what is under way.
func (s *sqlite) close() error {
	s.stop()
	s.finishing.Wait()
	var errs []error
	for _, pool := range []chan *sqliteConn{s.readers, s.writer} {
		for range cap(pool) {
			errs = append(errs, (<-pool).close())
		}
		close(pool)
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// sqliteError finds the word of package store for an error of the driver. The driver's own text stays out of conflicts: a
// caller is never told that the "database is locked" (C43).
func sqliteError(err error) error {
	if err == nil {
		return nil
	}
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) {
		return err
	}
	switch code {
	case sqlite3.BUSY, sqlite3.LOCKED:
		return fmt.Errorf("%w: another process is writing to the file", store.ErrConflict)
	case sqlite3.CONSTRAINT:
		return fmt.Errorf("%w: %w", store.ErrConstraint, err)
	case sqlite3.FULL:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite3.IOERR, sqlite3.CANTOPEN, sqlite3.READONLY, sqlite3.PERM:
		if strings.Contains(err.Error(), "no space left") {
			return fmt.Errorf("%w: %w", store.ErrFull, err)
		}
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
