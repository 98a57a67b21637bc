package sqlstore

import (
	"context"
	"database/sql"
)

// A step is one statement with what to do with its rows.
type step struct {
	text string // in the common subset: see dialect
	args []any
	row  func(scanner) error // nil: the statement gives no rows
	one  bool                // it must touch exactly one row
}

// runner sends steps to the database, all in one round trip where that is possible, and stops at the first error.
type runner interface {
	run(ctx context.Context, steps ...step) error
}

// engine is one of the databases behind its driver. The errors of its methods are those that package store names, unless
// they are the context's or faults of ours.
type engine interface {
	// read runs the steps without locks; several of them see one state of the database.
	read(ctx context.Context, steps ...step) error
	// write runs fn in one transaction and commits it.
	write(ctx context.Context, fn func(runner) error) error
	// now makes the time of leases from what CLOCK gave and the time of the newest written head, in microseconds. It is not
	// below the newest, and it goes on: a clock that was set back must not make leases last until it has caught up.
	now(clock, newest int64) int64
	words() *dialect
	// migrations gives the database to the migrations.
	migrations(ctx context.Context, fn func(*sql.DB) error) error
	announce(ctx context.Context, from string) error
	listen(ctx context.Context, heard func(from string)) error
	backup(ctx context.Context, path string) error
	close() error
}
