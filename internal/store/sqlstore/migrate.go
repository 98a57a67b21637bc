package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the tables up to date.
func migrate(ctx context.Context, e engine) func(*sql.DB) error {
	return func(db *sql.DB) error {
		files, err := fs.Sub(migrationFiles, "migrations")
		if err != nil {
			return err
		}
		dialect := goose.DialectSQLite3
		if _, ok := e.(*postgres); ok {
			dialect = goose.DialectPostgres
		}
		provider, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true),
			goose.WithGoMigrations(goose.NewGoMigration(labelMigration, &goose.GoFunc{RunTx: labelTasks(e)}, nil)))
		if err != nil {
			return fmt.Errorf("prepare the migrations: %w", err)
		}
		has, knows, err := provider.GetVersions(ctx)
		if err != nil {
			return fmt.Errorf("read the version of the database: %w", err)
		}
		if has > knows {
			return fmt.Errorf("%w: it is at version %d, this program knows versions up to %d; start a newer program",
				store.ErrNewer, has, knows)
		}
		if has == knows {
			return nil
		}
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("bring the tables up to date: %w", err)
		}
		return nil
	}
}

// labelMigration gives the tasks of an older database their rows among the labels. How JSON is taken apart is not in the
// common subset of SQL.
const labelMigration = 5

func labelTasks(e engine) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, e.words().translate(
			"INSERT INTO task_labels (seq, name, value) SELECT t.seq, b.key, b.value FROM tasks t, LABELS(t.labels) b WHERE t.labels <> '{}'"))
		return err
	}
}
