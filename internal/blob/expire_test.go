package blob_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

var removedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// filled is a store in dir with a log and an artifact of one task.
func filled(t *testing.T, dir string) *blob.Store {
	t.Helper()
	s, err := blob.Open(dir, blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Append(t.Context(), "task_x/1.runner", 0, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if err := put(t, s, "task_x/1.artifacts", "a.txt", "abc"); err != nil {
		t.Fatal(err)
	}
	return s
}

// holding is what the store has of task_x.
func holding(t *testing.T, s *blob.Store) blob.Holding {
	t.Helper()
	for h, err := range s.Holdings() {
		if err != nil {
			t.Fatal(err)
		}
		if h.First == "task_x" {
			return h
		}
	}
	return blob.Holding{}
}

func TestWhatExpiresLeavesANote(t *testing.T) {
	t.Parallel()
	s := filled(t, t.TempDir())
	open, err := s.Read("task_x/1.runner")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if h := holding(t, s); h.Bytes < 9 || h.Expired || time.Since(h.Modified) > time.Minute {
		t.Errorf("before: %+v", h)
	}
	for range 2 { // twice is once
		if err := s.Expire("task_x", removedAt); err != nil {
			t.Fatal(err)
		}
	}
	e, expired, err := s.Expired("task_x")
	if err != nil || !expired || !e.At.Equal(removedAt) || e.LogBytes != 6 || e.Artifacts != 1 {
		t.Errorf("got %+v, %v, %v", e, expired, err)
	}
	if h := holding(t, s); h.Bytes != 0 || !h.Expired {
		t.Errorf("after: %+v", h)
	}
	if text, err := io.ReadAll(open); err != nil || string(text) != "hello\n" {
		t.Errorf("one who was reading got %q, %v", text, err)
	}
	if err := s.Remove("task_x"); err != nil {
		t.Fatal(err)
	}
	if h := holding(t, s); h.First != "" {
		t.Errorf("removed: %+v", h)
	}
}

func TestNothingIsWrittenBehindAnExpiry(t *testing.T) {
	t.Parallel()
	s := filled(t, t.TempDir())
	if err := s.Expire("task_x", removedAt); err != nil {
		t.Fatal(err)
	}
	_, err := s.Append(t.Context(), "task_x/1.runner", 0, []byte("hello\n"))
	for what, err := range map[string]error{
		"a log": err, "an artifact": put(t, s, "task_x/1.artifacts", "b.txt", "x"),
		"an announcement": s.Announce("task_x/2.runner"), "an end": s.Finish("task_x/1.runner", 0),
	} {
		if !errors.Is(err, blob.ErrExpired) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if h := holding(t, s); h.Bytes != 0 {
		t.Errorf("something came back: %+v", h)
	}
}

func TestWhatHasNoBytesLeavesNoNote(t *testing.T) {
	t.Parallel()
	s := filled(t, t.TempDir())
	if err := s.Expire("task_y", removedAt); err != nil {
		t.Fatal(err)
	}
	if _, expired, err := s.Expired("task_y"); expired || err != nil {
		t.Errorf("got %v, %v", expired, err)
	}
}

// TestAnExpiryThatWasInterruptedIsFinished makes the states in which a kill can leave the directory: the note stands, torn or
// whole, and some of the bytes do.
func TestAnExpiryThatWasInterruptedIsFinished(t *testing.T) {
	t.Parallel()
	for _, note := range []string{"", `{"at":"2026-0`, `{"at":"2026-03-01T12:00:00Z","log_bytes":6,"artifacts":1}`} {
		dir := t.TempDir()
		s := filled(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "task_x", ".expired"), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		e, expired, err := s.Expired("task_x")
		if err != nil || !expired || e.LogBytes == 0 || e.Artifacts == 0 || e.At.IsZero() {
			t.Errorf("%q: got %+v, %v, %v", note, e, expired, err)
		}
		if h := holding(t, s); h.Bytes == 0 || !h.Expired {
			t.Errorf("%q: nobody sees that it is not finished: %+v", note, h)
		}
		if err := s.Expire("task_x", removedAt.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if h := holding(t, s); h.Bytes != 0 || !h.Expired {
			t.Errorf("%q: finished: %+v", note, h)
		}
	}
}

func TestWhatIsOnItsWayIsNoLog(t *testing.T) {
	t.Parallel()
	s, err := blob.Open(t.TempDir(), blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), "task_x/1"+blob.Arriving, 0, []byte("0000000001")); err != nil {
		t.Fatal(err)
	}
	if err := put(t, s, "task_x/1.artifacts", "a.txt", "abc"); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire("task_x", removedAt); err != nil {
		t.Fatal(err)
	}
	if e, expired, err := s.Expired("task_x"); err != nil || !expired || e.LogBytes != 0 || e.Artifacts != 1 {
		t.Errorf("got %+v, %v, %v; want an artifact and no log", e, expired, err)
	}
	if h := holding(t, s); h.Bytes != 0 {
		t.Errorf("left: %+v", h)
	}
}
