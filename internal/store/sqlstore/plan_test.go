package sqlstore

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// TestNoStatementReadsAGrowingTableAsAWhole asks SQLite how it would run everything that the store ever says.
func TestNoStatementReadsAGrowingTableAsAWhole(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	sayEverything(t, s)
	scan := regexp.MustCompile(`^SCAN (t|a|l|e|b|i|tasks|attempts|events|task_labels)\b`)
	short := regexp.MustCompile(`INDEX (tasks_queued|tasks_open|attempts_live_\w+|attempts_one_live)$`) // hold what has not ended
	e := s.engine.(*sqlite)
	statements := 0
	e.dialect.texts.Range(func(_, text any) bool {
		if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)`).MatchString(text.(string)) {
			return true
		}
		statements++
		rows, err := e.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text.(string), make([]any, arguments(text.(string)))...)
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

// TestPostgreSQLReadsNoGrowingTableAsAWhole looks at the plans that would be kept, which know no arguments.
func TestPostgreSQLReadsNoGrowingTableAsAWhole(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), postgrestest.DSN(t), Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer s.Close()
	sayEverything(t, s)
	whole := regexp.MustCompile(`Seq Scan on (tasks|attempts|events|task_labels)`)
	conn, err := s.engine.(*postgres).acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(statement string) {
		if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	exec("SET plan_cache_mode = force_generic_plan")
	statements := 0
	s.engine.(*postgres).dialect.texts.Range(func(_, text any) bool {
		if !regexp.MustCompile(`^(SELECT .* FROM|INSERT|UPDATE|DELETE)`).MatchString(text.(string)) {
			return true
		}
		statements++
		exec("PREPARE looked AS " + text.(string))
		explain := "EXPLAIN EXECUTE looked"
		if n := arguments(text.(string)); n > 0 {
			explain += "(" + strings.Repeat("NULL, ", n-1) + "NULL)"
		}
		rows, _ := conn.Query(t.Context(), explain, pgx.QueryExecModeSimpleProtocol)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Errorf("explain %s: %v", text, err)
		}
		if whole.MatchString(strings.Join(plan, "\n")) {
			t.Errorf("%s\n\treads a whole table:\n\t%s", text, strings.Join(plan, "\n\t"))
		}
		exec("DEALLOCATE looked")
		return true
	})
	if statements < 30 {
		t.Errorf("only %d statements were looked at", statements)
	}
}

// arguments is how many arguments a statement has.
func arguments(text string) int {
	given := map[string]bool{}
	for _, a := range regexp.MustCompile(`[$?]\d+`).FindAllString(text, -1) {
		given[a] = true
	}
	return len(given)
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
	sayLists(ctx, s, note)
	note(s.Attempts(ctx, "t"))
	note(s.LiveAttempts(ctx, "h"))
	note(s.Events(ctx, store.EventFilter{After: 3, Limit: 10}))
	note(s.Events(ctx, store.EventFilter{TaskID: "t"}))
	note(s.Events(ctx, store.EventFilter{DeviceID: "d"}))
	note(s.Timeline(ctx, store.TimelineQuery{
		Devices: []phonebooth.DeviceID{"d"}, Hosts: []phonebooth.HostID{"h"}, From: now.Add(-time.Hour), To: now, Fold: time.Second,
	}))
	note(s.Overview(ctx, now.Add(-time.Hour), 10))
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

// sayLists asks for lists by every filter, alone and with one that only the rows can tell.
func sayLists(ctx context.Context, s *Store, note func(any, error)) {
	for _, f := range []store.TaskFilter{
		{},
		{Status: []phonebooth.Status{phonebooth.Queued}},
		{Status: []phonebooth.Status{phonebooth.Dispatched}},
		{Status: []phonebooth.Status{phonebooth.Queued, phonebooth.Dispatched}},
		{Status: []phonebooth.Status{phonebooth.Failed}},
		{Status: []phonebooth.Status{phonebooth.Failed, phonebooth.Done}},
		{DeviceID: "d"},
		{HostID: "h"},
		{Workflow: "w", WorkflowVersion: 2},
		{DriverTypes: []string{"sim"}},
		{Labels: []store.Label{{Name: "a", Value: "b"}}},
		{Labels: []store.Label{{Name: "a", Any: true}}},
		{Since: time.Now(), Until: time.Now()},
		{Text: "x"},
	} {
		f.Limit = 10
		note(s.Tasks(ctx, f))
		f.Before, f.Text = 100, "y"
		note(s.Tasks(ctx, f))
		f.Labels = append(f.Labels, store.Label{Name: "c", Value: "d"}, store.Label{Name: "e", Value: "f"})
		f.DeviceID, f.Workflow = "d", "w"
		note(s.Tasks(ctx, f))
	}
	for _, f := range []store.EventFilter{
		{}, {TaskID: "t"}, {DeviceID: "d"}, {HostID: "h"}, {Kinds: []phonebooth.EventKind{phonebooth.TaskDone}}, {Labels: []store.Label{{Name: "a"}}},
	} {
		f.Limit = 10
		note(s.EventPage(ctx, f))
		f.Kinds, f.Newest, f.Before = []phonebooth.EventKind{phonebooth.TaskDone}, true, 100
		note(s.EventPage(ctx, f))
	}
	note(s.EventSince(ctx, time.Now()))
}
