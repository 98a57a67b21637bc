package sqlstore

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func TestDialects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ common, sqlite, postgres string }{
		{"SELECT $2, $1, $10", "SELECT ?2, ?1, ?10", "SELECT $2, $1, $10"},
		{
			"WHERE h.id IN [EACH $1] ORDER BY h.id FOR UPDATE",
			"WHERE h.id IN (SELECT value FROM json_each(?1)) ORDER BY h.id",
			"WHERE h.id = ANY (ARRAY (SELECT unnest($1::text[]))) ORDER BY h.id FOR UPDATE",
		},
		{
			"x IN [EACH $1 UNION SELECT y FROM z WHERE z.q IN [EACH $2]]",
			"x IN (SELECT value FROM json_each(?1) UNION SELECT y FROM z WHERE z.q IN (SELECT value FROM json_each(?2)))",
			"x = ANY (ARRAY (SELECT unnest($1::text[]) UNION SELECT y FROM z WHERE z.q = ANY (ARRAY (SELECT unnest($2::text[])))))",
		},
		{"SELECT CLOCK", "SELECT 0", "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"},
		{"FROM LABELS(t.labels) b", "FROM json_each(t.labels) b", "FROM json_each_text(t.labels::json) b"},
	} {
		for _, got := range []struct{ text, want string }{
			{newSQLite().text(c.common), c.sqlite}, {newPostgres().text(c.common), c.postgres},
		} {
			if got.text != got.want {
				t.Errorf("%s becomes\n\t%s, want\n\t%s", c.common, got.text, got.want)
			}
		}
	}
}

// TestSQLiteBindsArgumentsByNumber shows what the rewriting to ?n is for.
func TestSQLiteBindsArgumentsByNumber(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	var first, second string
	err := s.engine.read(t.Context(), step{text: "SELECT $2, $1", args: []any{"one", "two"}, row: func(read scanner) error {
		return read(&first, &second)
	}})
	if err != nil || first != "two" || second != "one" {
		t.Errorf("$2, $1 of one, two gives %s, %s (%v)", first, second, err)
	}
}

func openFile(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "phonebooth.db"), Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// TestNoStatementReadsAGrowingTableAsAWhole asks SQLite how it would run everything that the store ever says.
func TestNoStatementReadsAGrowingTableAsAWhole(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	sayEverything(t, s)
	scan := regexp.MustCompile(`^SCAN (t|a|l|e|tasks|attempts|events)\b`)
	short := regexp.MustCompile(`INDEX (tasks_queued|attempts_live_\w+|attempts_one_live)$`) // hold what has not ended
	e := s.engine.(*sqlite)
	statements := 0
	e.dialect.texts.Range(func(_, text any) bool {
		if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)`).MatchString(text.(string)) {
			return true
		}
		statements++
		rows, err := e.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text.(string), nullArgs(text.(string))...)
		if err != nil {
			t.Errorf("explain %s: %v", text, err)
			return true
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatalf("explain: %v", err)
			}
			// A statement with a limit may walk along an index until it has enough.
			walks := strings.Contains(detail, "INDEX") && strings.Contains(text.(string), "LIMIT")
			if scan.MatchString(detail) && !short.MatchString(detail) && !walks {
				t.Errorf("%s\n\treads a whole table: %s", text, detail)
			}
		}
		return true
	})
	if statements < 30 {
		t.Errorf("only %d statements were looked at", statements)
	}
}

func nullArgs(text string) []any {
	n := 0
	for _, m := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(text, -1) {
		if i := int(m[1][0] - '0'); len(m[1]) == 1 {
			n = max(n, i)
		} else {
			n = max(n, 10*i+int(m[1][1]-'0'))
		}
	}
	return make([]any, n)
}

// sayEverything calls every method that reads or writes what grows.
func sayEverything(t *testing.T, s *Store) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	errs := []error{
		s.Write(ctx, func(tx store.Tx) error { return loadAndSave(ctx, tx) }),
		s.PutToken(ctx, store.Token{Hash: "x"}), s.SpendToken(ctx, "x", "h"),
	}
	note := func(_ any, err error) { errs = append(errs, err) }
	note(s.Tasks(ctx, store.TaskFilter{Limit: 10}))
	note(s.Tasks(ctx, store.TaskFilter{Limit: 10, Before: 5}))
	note(s.Tasks(ctx, store.TaskFilter{Status: []phonebooth.Status{phonebooth.Queued}}))
	note(s.Tasks(ctx, store.TaskFilter{Status: []phonebooth.Status{phonebooth.Assigned, phonebooth.Dispatched}}))
	note(s.Attempts(ctx, "t"))
	note(s.LiveAttempts(ctx, "h"))
	note(s.Events(ctx, store.EventFilter{After: 3, Limit: 10}))
	note(s.Events(ctx, store.EventFilter{TaskID: "t"}))
	note(s.Events(ctx, store.EventFilter{DeviceID: "d"}))
	note(s.Snapshot(ctx))
	note(s.Due(ctx, store.DueTimes{Assigned: now, Dispatched: now, Queue: now, Heard: now, Polled: now}, 10))
	note(s.Prune(ctx, now.Add(-time.Hour), 10))
	for _, err := range errs {
		if err != nil {
			t.Fatalf("say everything: %v", err)
		}
	}
	_, _ = s.Task(ctx, "t")
	_, _ = s.AttemptOfLease(ctx, "x")
	_, _ = s.AttemptOnDevice(ctx, "d")
}

func loadAndSave(ctx context.Context, tx store.Tx) error {
	if _, err := tx.Load(ctx, store.Keys{
		Hosts: []phonebooth.HostID{"h"}, HostDevices: []phonebooth.HostID{"h"}, HostAttempts: []phonebooth.HostID{"h"},
		Devices: []phonebooth.DeviceID{"d"}, Tasks: []phonebooth.TaskID{"t"}, Attempts: []phonebooth.AttemptKey{{TaskID: "t", Number: 1}},
		Idempotency: []store.IdempotencyKey{{Subject: "s", Key: "k"}}, Claims: []store.ClaimKey{{HostID: "h", ClaimID: "c"}},
		Workflows: []string{"w"},
	}); err != nil {
		return err
	}
	head, err := tx.Head(ctx)
	if err != nil {
		return err
	}
	return tx.Save(ctx, lifecycle.Change{Tasks: []phonebooth.Task{{ID: "t"}}, Release: []phonebooth.DeviceID{"d"}}, &head)
}

func TestSQLiteCountsLeaseTimeBySteadyClock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "phonebooth.db")
	steady := boottime.Now()
	before := time.Now()
	s, err := Open(t.Context(), path, Options{Steady: func() time.Duration { return steady }})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer s.Close()
	begin, err := s.Now(t.Context())
	if err != nil || begin.Before(before.Truncate(time.Microsecond)) || begin.After(time.Now()) {
		t.Fatalf("at first it is %v (%v), want the wall clock's time", begin, err)
	}
	steady += time.Hour // the machine slept, say
	now, err := s.Now(t.Context())
	if err != nil || now.Sub(begin) != time.Hour {
		t.Errorf("an hour later it is %v later (%v)", now.Sub(begin), err)
	}
}

// TestTheLogIsStartedAnewAndALongReaderHoldsUpNobody is about what happens when the log has grown very long.
func TestTheLogIsStartedAnewAndALongReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	e := s.engine.(*sqlite)
	for i := range 3 {
		if err := s.PutToken(t.Context(), store.Token{Hash: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
	}
	var pages int64
	err := e.read(t.Context(), // the reader is in the middle of its two statements
		step{text: "SELECT COUNT(*) FROM tokens", row: ignore},
		step{text: "SELECT COUNT(*) FROM tokens", row: func(scanner) error {
			if err := s.PutToken(t.Context(), store.Token{Hash: "x"}); err != nil {
				return err
			}
			pages = e.walPages.Load()
			begin := time.Now()
			e.restartLog(t.Context())
			if took := time.Since(begin); took > busyTimeout/2 {
				t.Errorf("the writers were held up for %v", took)
			}
			return s.PutToken(t.Context(), store.Token{Hash: "y"})
		}})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.walPages.Load(); got <= pages {
		t.Errorf("the log went from %d pages to %d under a reader", pages, got)
	}
	e.restartLog(t.Context())
	if err := s.PutToken(t.Context(), store.Token{Hash: "z"}); err != nil {
		t.Fatal(err)
	}
	if got := e.walPages.Load(); got >= pages {
		t.Errorf("the log still has %d pages", got)
	}
}
