package sqlstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

func TestReplicasHearWhatIsAnnouncedInTheirSchemaAlone(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, b, other := openStore(t, dsn), openStore(t, dsn), openStore(t, postgrestest.DSN(t))
	ctx, stop := context.WithCancel(t.Context())
	heard, ended := make(chan string, 16), make(chan error, 1)
	go func() { ended <- a.Listen(ctx, func(from string) { heard <- from }) }()
	if from := <-heard; from != "" {
		t.Errorf("began with %q, want nobody", from)
	}
	if err := other.Announce(t.Context(), "of another schema"); err != nil {
		t.Errorf("announce: %v", err)
	}
	for _, name := range []string{"a", "b's; \"name\""} {
		if err := b.Announce(t.Context(), name); err != nil {
			t.Errorf("announce: %v", err)
		}
		if from := <-heard; from != name {
			t.Errorf("heard %q, want %q", from, name)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("listen ended with %v", err)
	}
}

func TestAnEmbeddedDatabaseHasNobodyToHear(t *testing.T) {
	t.Parallel()
	st := openStore(t, filepath.Join(t.TempDir(), "phonebooth.db"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- st.Listen(ctx, func(from string) { t.Errorf("heard %q", from) }) }()
	if err := st.Announce(t.Context(), "a"); err != nil {
		t.Errorf("announce: %v", err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("listen ended with %v", err)
	}
}

func openStore(t *testing.T, dsn string) *sqlstore.Store {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return st
}
