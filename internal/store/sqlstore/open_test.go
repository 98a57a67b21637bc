package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/store/storetest"
)

// onBoth runs a test on an empty database of each sort.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			test(t, database.dsn(t))
		})
	}
}

func addHost(t testing.TB, st store.Store, id phonebooth.HostID) {
	t.Helper()
	if err := writeHost(t.Context(), st, phonebooth.Host{ID: id, RegisteredAt: time.UnixMicro(1).UTC()}); err != nil {
		t.Fatalf("write a host: %v", err)
	}
}

func writeHost(ctx context.Context, st store.Store, h phonebooth.Host) error {
	return st.Write(ctx, func(tx store.Tx) error {
		return tx.Save(ctx, lifecycle.Change{Hosts: []phonebooth.Host{h}}, nil)
	})
}

func hosts(t testing.TB, st store.Store) (ids string) {
	t.Helper()
	all, err := st.Hosts(t.Context())
	if err != nil {
		t.Fatalf("hosts: %v", err)
	}
	for _, h := range all {
		ids += string(h.ID) + " "
	}
	return strings.TrimSpace(ids)
}

func shut(t testing.TB, st store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestADatabaseIsAsItWasLeft(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		addHost(t, st, "h1")
		shut(t, st)
		shut(t, st) // twice is once
		if err := writeHost(t.Context(), st, phonebooth.Host{ID: "h0"}); err == nil {
			t.Error("a closed database was written to")
		}
		st = open(t, dsn)
		defer shut(t, st)
		addHost(t, st, "h2")
		if got := hosts(t, st); got != "h1 h2" {
			t.Errorf("hosts %s, want h1 h2", got)
		}
	})
}

func TestSeveralProgramsMayOpenAnEmptyDatabaseAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		if !strings.HasPrefix(dsn, "postgres") {
			t.Skip("a file is for one program")
		}
		opened := make(chan error)
		for range 4 {
			go func() {
				st, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
				if err == nil {
					err = st.Close()
				}
				opened <- err
			}()
		}
		for range 4 {
			if err := <-opened; err != nil {
				t.Errorf("open: %v", err)
			}
		}
	})
}

func TestADatabaseOfANewerVersionIsRefusedAndLeftAsItIs(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		addHost(t, st, "h1")
		shut(t, st)
		setVersion(t, dsn, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, %)")
		_, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "9999") {
			t.Errorf("got error %v, want ErrNewer with the version", err)
		}
		setVersion(t, dsn, "DELETE FROM goose_db_version WHERE version_id = 9999")
		st = open(t, dsn)
		defer shut(t, st)
		if got := hosts(t, st); got != "h1" {
			t.Errorf("hosts %q, want what was there", got)
		}
	})
}

// setVersion runs a statement behind the store's back.
func setVersion(t *testing.T, dsn, statement string) {
	t.Helper()
	var err error
	if strings.HasPrefix(dsn, "postgres") {
		conn, connectErr := pgx.Connect(t.Context(), dsn)
		if connectErr != nil {
			t.Fatalf("connect: %v", connectErr)
		}
		_, err = conn.Exec(t.Context(), strings.Replace(statement, "%", "true", 1))
		err = errors.Join(err, conn.Close(t.Context()))
	} else {
		db, openErr := driver.Open(dsn)
		if openErr != nil {
			t.Fatalf("open: %v", openErr)
		}
		_, err = db.ExecContext(t.Context(), strings.Replace(statement, "%", "1", 1))
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestABackupIsACopyThatOpens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, filepath.Join(dir, "phonebooth.db"))
	defer shut(t, st)
	addHost(t, st, "h1")
	copied := filepath.Join(dir, "copy of it.db")
	if err := st.Backup(t.Context(), copied); err != nil {
		t.Fatalf("backup: %v", err)
	}
	addHost(t, st, "h2")
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy's mode is %v (%v), want 0600", info.Mode(), err)
	}
	if err := st.Backup(t.Context(), copied); err == nil {
		t.Error("a backup was written over another")
	}
	restored := open(t, copied)
	defer shut(t, restored)
	if got := hosts(t, restored); got != "h1" {
		t.Errorf("the copy has hosts %q, want those of its time", got)
	}
	storetest.CheckInvariants(t, restored)
}

func TestPostgreSQLSaysHowToBackUp(t *testing.T) {
	t.Parallel()
	st := open(t, postgrestest.DSN(t))
	defer shut(t, st)
	if err := st.Backup(t.Context(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("got %v, want an error that names pg_dump", err)
	}
}

func TestTheFileIsItsOwnersOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "phonebooth.db")
	st := open(t, path)
	defer shut(t, st)
	addHost(t, st, "h1")
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v), want mode 0600", name, info, err)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dsn string
		is        error
	}{
		{"no directory", filepath.Join(dir, "none", "phonebooth.db"), nil},
		{"no database", text, nil},
		{"nobody there", "postgres://user:secret@/x?host=" + dir, store.ErrUnavailable},
		{"no URL", "postgres://user:secret@host:notaport/x", nil},
	} {
		_, err := sqlstore.Open(t.Context(), c.dsn, sqlstore.Options{})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got error %v, want one that is %v and tells no secret", c.name, err, c.is)
		}
	}
	if got, err := os.ReadFile(text); err != nil || !strings.HasPrefix(string(got), "this is no database") {
		t.Errorf("a file that is no database was changed (%v)", err)
	}
}
