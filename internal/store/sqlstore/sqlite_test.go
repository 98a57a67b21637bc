package sqlstore

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

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

func TestAFullDiskIsSaidToBeFull(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	e := s.engine.(*sqlite)
	limit := func(pages string) {
		c := <-e.writer
		defer func() { e.writer <- c }()
		if err := c.run(t.Context(), step{text: "PRAGMA max_page_count = " + pages, row: ignore}); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // no less than it has: from now on it cannot grow
	err := s.PutToken(t.Context(), store.Token{Hash: "big", Name: strings.Repeat("x", 1<<20)})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("got error %v, want ErrFull", err)
	}
	limit("1000000")
	if err := s.PutToken(t.Context(), store.Token{Hash: "small"}); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if _, err := s.Token(t.Context(), "big"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("half of it was written: %v", err)
	}
}
