package sqlstore

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// TestTasksOfAnOlderDatabaseAreFoundByTheirLabels takes the rows of the labels away, as if the task were older than them.
func TestTasksOfAnOlderDatabaseAreFoundByTheirLabels(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "phonebooth.db") },
		"PostgreSQL": func(t *testing.T) string { return postgrestest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), dsn(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			older(t, s)
			for label, want := range map[store.Label]int{
				{Name: "suite", Value: "night \"<é>"}: 1, {Name: "empty"}: 1, {Name: "suite", Any: true}: 1, {Name: "none", Any: true}: 0,
			} {
				page, err := s.Tasks(t.Context(), store.TaskFilter{Labels: []store.Label{label}})
				if err != nil || len(page.Tasks) != want {
					t.Errorf("%+v: got %d tasks, %v, want %d", label, len(page.Tasks), err, want)
				}
			}
		})
	}
}

func older(t *testing.T, s *Store) {
	t.Helper()
	labelled := phonebooth.Task{ID: "t1", Seq: 1, TaskSpec: phonebooth.TaskSpec{Labels: map[string]string{"suite": "night \"<é>", "empty": ""}}}
	change := lifecycle.Change{Tasks: []phonebooth.Task{labelled, {ID: "t2", Seq: 2}}}
	err := s.Write(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Load(t.Context(), store.Keys{}); err != nil {
			return err
		}
		return tx.Save(t.Context(), change, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.engine.migrations(t.Context(), func(db *sql.DB) error {
		if _, err := db.ExecContext(t.Context(), "DELETE FROM task_labels"); err != nil {
			return err
		}
		return inTx(t.Context(), db, labelTasks(s.engine))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inTx(ctx context.Context, db *sql.DB, fn func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
