package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// TestC43_AnotherProgramThatLocksTheFileIsAConflict keeps the lock for longer than anybody waits.
func TestC43_AnotherProgramThatLocksTheFileIsAConflict(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "phonebooth.db")
	st := open(t, path)
	defer shut(t, st)
	db, err := driver.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	locked, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = writeHost(t.Context(), st, phonebooth.Host{ID: "h1"})
	if !errors.Is(err, store.ErrConflict) || strings.Contains(err.Error(), "locked") {
		t.Errorf("got error %v, want a conflict that does not speak of locks", err)
	}
	if got := hosts(t, st); got != "" {
		t.Errorf("hosts %q", got)
	}
	if err := locked.Rollback(); err != nil {
		t.Fatal(err)
	}
	addHost(t, st, "h2")
}

// TestTheLogOfWritesIsUsedAgain writes many times what the log may hold, without a pause.
func TestTheLogOfWritesIsUsedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "phonebooth.db")
	st := open(t, path)
	const piece = 256 << 10
	written := 0
	waitFor(t, "the log to be used again", func() bool {
		h := phonebooth.Host{ID: phonebooth.HostID(rune('A' + written)), Name: strings.Repeat("x", piece)}
		if err := writeHost(t.Context(), st, h); err != nil {
			t.Fatalf("write: %v", err)
		}
		if written++; written == 500 {
			t.Fatalf("the log has %d bytes after %d writes of %d", size(t, path+"-wal"), written, piece)
		}
		return written > 30 && size(t, path+"-wal") < int64(written)*piece/2
	})
	shut(t, st)
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("closing left the log beside the file")
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestAPostgreSQLThatGoesAwayIsUnavailableUntilItIsBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	st := open(t, server.DSN())
	defer shut(t, st)
	addHost(t, st, "h1")
	err := st.Write(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Head(t.Context()); err != nil {
			return err
		}
		server.Kill()
		_, err := tx.Head(t.Context())
		return err
	})
	for what, err := range map[string]error{
		"the transaction under way": err,
		"a new one":                 writeHost(t.Context(), st, phonebooth.Host{ID: "h2"}),
		"a read":                    func() error { _, err := st.Hosts(t.Context()); return err }(),
		"the clock":                 func() error { _, err := st.Now(t.Context()); return err }(),
	} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got error %v, want ErrUnavailable", what, err)
		}
	}
	server.Restart()
	addHost(t, st, "h3")
	if got := hosts(t, st); got != "h1 h3" {
		t.Errorf("hosts %q, want h1 h3", got)
	}
}

// TestATransactionThatStopsHalfwayGivesItsLocksBack is what keeps a replica that hangs from stopping the others.
func TestATransactionThatStopsHalfwayGivesItsLocksBack(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	hanging, st := open(t, dsn+"&idle_in_transaction_session_timeout=100ms"), open(t, dsn)
	defer shut(t, hanging)
	defer shut(t, st)
	released := make(chan struct{})
	err := hanging.Write(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Head(t.Context()); err != nil {
			return err
		}
		go func() {
			defer close(released)
			err := st.Write(t.Context(), func(tx store.Tx) error {
				_, err := tx.Head(t.Context())
				return err
			})
			if err != nil {
				t.Errorf("the other replica: %v", err)
			}
		}()
		<-released
		_, err := tx.Head(t.Context())
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the replica that hung: got error %v, want ErrUnavailable", err)
	}
}

func TestACallerMayGiveUpWhileItWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	st := open(t, filepath.Join(t.TempDir(), "phonebooth.db"))
	defer shut(t, st)
	err := st.Write(t.Context(), func(store.Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := writeHost(ctx, st, phonebooth.Host{ID: "h1"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want the context's", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("the writer: %v", err)
	}
}

// TestAServerThatOnlyReadsIsUnavailable is what is met while a standby takes over.
func TestAServerThatOnlyReadsIsUnavailable(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	shut(t, open(t, dsn))
	st := open(t, dsn+"&default_transaction_read_only=on")
	defer shut(t, st)
	if err := writeHost(t.Context(), st, phonebooth.Host{ID: "h1"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: got error %v, want ErrUnavailable", err)
	}
}
