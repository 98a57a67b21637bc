package sqlstore_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// databases are the two that everything runs on: each gives a test the name of an empty one.
var databases = []struct {
	name string
	dsn  func(testing.TB) string
}{
	{"SQLite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "phone booth%3F?.db") }},
	{"PostgreSQL", postgrestest.DSN},
}

func TestStore(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, database.dsn(t)) })
		})
	}
}

func open(t testing.TB, dsn string) *sqlstore.Store {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	return st
}
