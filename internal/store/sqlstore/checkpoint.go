package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

const (
	// From this many pages on, the log of a SQLite database is brought into its file. SQLite would do it at this size too,
	// but inside somebody's COMMIT.
	walCheckpoint = 1000
	// At most one checkpoint in this time, and a rarer one while a long reader, such as a backup, needs the log.
	checkpointPause = 250 * time.Millisecond
	readerPause     = 2 * time.Second
)

// checkpoints brings the log of the writes into the file whenever it has grown, beside the writers, until ctx ends. A
// checkpoint that does not get through is no loss: the next one takes it further, and closing the database finishes it.
func (s *sqlite) checkpoints(ctx context.Context) {
	conn, err := newSQLiteConn(ctx, s.db, s.dialect)
	if err != nil {
		return
	}
	defer conn.close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.written:
		}
		if s.walPages.Load() < walCheckpoint {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.checkpoint(ctx, conn)):
		}
	}
}

// checkpoint returns how long to wait before the next one. The log is used from its beginning again by a writer that finds
// all of it in the file. Writers that never pause would always have added something: then the rest is done in their turn.
func (s *sqlite) checkpoint(ctx context.Context, conn *sqliteConn) time.Duration {
	var busy, log, done int64
	err := conn.run(ctx, step{text: "PRAGMA wal_checkpoint(PASSIVE)", row: func(read scanner) error {
		return read(&busy, &log, &done)
	}})
	switch {
	case err != nil || done < log:
		return readerPause
	case s.walPages.Load() > log:
		s.restartLog(ctx)
	}
	return checkpointPause
}

// restartLog takes the writers' turn, so that they wait for it as for one another. It does not wait for readers.
func (s *sqlite) restartLog(ctx context.Context) {
	c, err := take(ctx, s.writer)
	if err != nil {
		return
	}
	defer func() { s.writer <- c }()
	_ = c.run(ctx,
		step{text: "PRAGMA busy_timeout = 20", row: ignore},
		step{text: "PRAGMA wal_checkpoint(RESTART)", row: ignore},
	)
	_ = c.run(context.WithoutCancel(ctx), step{text: fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()), row: ignore})
}

func ignore(scanner) error { return nil }

// watchLog has the writing connection tell how long the log is after each of its commits.
func (s *sqlite) watchLog(conn *sql.Conn) error {
	return conn.Raw(func(raw any) error {
		raw.(driver.Conn).Raw().WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
			s.walPages.Store(int64(pages))
			return nil
		})
		return nil
	})
}
