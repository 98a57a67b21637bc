package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

const (
	// From this many pages on, the log of a SQLite database is brought into its file. SQLite would do it at this size too,
	// but inside somebody's COMMIT.
	walCheckpoint = 1000
	// From this many on, it is worth a pause of the writers to start the log anew: readers that overlap have kept it from
	// being reused.
	walRestart = 20_000
	// At most one checkpoint in this time.
	checkpointPause = 250 * time.Millisecond
)

// checkpoints brings the log of the writes into the file whenever it has grown, beside the writers, until ctx ends. A
// checkpoint that does not get through is no loss: the next one takes it further, and closing the database finishes it.
func (s *sqlite) checkpoints(ctx context.Context) {
	conn, err := newSQLiteConn(ctx, s.db)
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
		switch size := s.walPages.Load(); {
		case size >= walRestart:
			s.restartLog(ctx)
		case size >= walCheckpoint:
			_ = conn.run(ctx, step{text: "PRAGMA wal_checkpoint(PASSIVE)", row: ignore})
		default:
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkpointPause):
		}
	}
}

// restartLog takes the writers' turn, so that they wait for it as for one another.
func (s *sqlite) restartLog(ctx context.Context) {
	c, err := take(ctx, s.writer)
	if err != nil {
		return
	}
	defer func() { s.writer <- c }()
	_ = c.run(ctx, step{text: "PRAGMA wal_checkpoint(TRUNCATE)", row: ignore})
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
