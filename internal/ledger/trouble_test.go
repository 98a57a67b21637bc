package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// other is a second program on the database.
func other(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestC44_ALockThatIsHeldForAWhileIsWaitedFor(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	g := &gate{Store: open(t, dsn+"&lock_timeout=50ms"), failed: make(chan error, 10)}
	l := start(t, g, ledger.Options{})
	must(t, l.Do(t.Context(), submit("t1", "", 9)))
	conn := other(t, dsn)
	exec(t, conn, "BEGIN", "SELECT 1 FROM tasks WHERE id = 't1' FOR UPDATE")
	answer := make(chan error, 1)
	go func() { answer <- l.Do(t.Context(), cancelTask("t1")) }()
	if err := <-g.failed; !errors.Is(err, store.ErrConflict) {
		t.Errorf("the first try got %v, want a conflict", err)
	}
	exec(t, conn, "ROLLBACK")
	must(t, <-answer)
	if got := taskOf(t, g, "t1").Status; got != phonebooth.Cancelled {
		t.Errorf("the task is %s", got)
	}
}

func TestC44_ALockThatIsHeldForEverIsAClear503(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	g := &gate{Store: open(t, dsn+"&lock_timeout=20ms")}
	l := start(t, g, ledger.Options{})
	d := addHost(t, l, "h1", 1)[0]
	must(t, l.Do(t.Context(), submit("t1", "", 9)))
	before := g.tries()
	conn := other(t, dsn)
	// The head is locked last, so that everything else of the placement was ready to be written.
	exec(t, conn, "BEGIN", "SELECT 1 FROM head FOR UPDATE")
	wantCode(t, "the placement", l.Do(t.Context(), place("t1", d, false)), "store_unavailable")
	if got := g.tries() - before; got != 5 {
		t.Errorf("it was tried %d times, want 5", got)
	}
	exec(t, conn, "ROLLBACK")
	if got := taskOf(t, g, "t1"); got.Status != phonebooth.Queued || got.Attempt != 0 {
		t.Errorf("something was written: %s, attempt %d", got.Status, got.Attempt)
	}
	must(t, l.Do(t.Context(), place("t1", d, false)))
}

func TestC44_ADeadlockIsDecidedAnew(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	// The ledger's side is the one that finds the deadlock, and so its victim.
	g := &gate{Store: open(t, dsn+"&lock_timeout=30s&deadlock_timeout=500ms"), failed: make(chan error, 10)}
	l := start(t, g, ledger.Options{})
	d := addHost(t, l, "h1", 1)[0]
	must(t, l.Do(t.Context(), submit("t1", "", 9)))
	conn, watch := other(t, dsn+"&deadlock_timeout=60s"), other(t, dsn)
	exec(t, conn, "BEGIN", "SELECT 1 FROM devices FOR UPDATE")
	answer := make(chan error, 1)
	go func() { answer <- l.Do(t.Context(), place("t1", d, false)) }()
	eventually(t, "the ledger to wait for the device", func() bool {
		var waiting int
		err := watch.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '% FROM devices d%'"+
			" AND application_name = 'phonebooth' AND $1 = ANY (pg_blocking_pids(pid))", conn.PgConn().PID()).Scan(&waiting)
		must(t, err)
		return waiting == 1
	})
	exec(t, conn, "SELECT 1 FROM hosts FOR UPDATE") // the ledger holds it: now each waits for the other
	err := <-g.failed
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "40P01" || !errors.Is(err, store.ErrConflict) {
		t.Errorf("the victim got %v, want a deadlock as a conflict", err)
	}
	exec(t, conn, "ROLLBACK")
	must(t, <-answer)
	if got := taskOf(t, g, "t1").Status; got != phonebooth.Assigned {
		t.Errorf("the task is %s", got)
	}
}
