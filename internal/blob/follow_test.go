package blob_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// follow reads what a log has from offset on, piece by piece; what was left out as "<N>".
func follow(t testing.TB, s *blob.Store, key string, offset int64) (text string, end int64, open bool) {
	t.Helper()
	p := make([]byte, 3)
	var all strings.Builder
	for {
		piece, err := s.Piece(key, offset, p)
		if err != nil {
			t.Fatal(err)
		}
		if piece.At > offset {
			fmt.Fprintf(&all, "<%d>", piece.At-offset)
		}
		all.Write(p[:piece.N])
		offset = piece.At + int64(piece.N)
		if piece.N == 0 {
			return all.String(), offset, piece.Open
		}
	}
}

func TestALogIsReadPieceByPiece(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	if text, end, open := follow(t, s, "task_a/1", 5); text != "" || end != 5 || open {
		t.Errorf("a log that is not there: %q to %d, open %v", text, end, open)
	}
	mustAppend(t, s, "task_a/1", 0, "0123456789abcdefghijklmnopqrstuv") // 32 bytes: 8 and 12 to 15 are kept
	for offset, want := range map[int64]string{0: "01234567<12>klmnopqrstuv", 7: "7<12>klmnopqrstuv", 8: "<12>klmnopqrstuv", 11: "<9>klmnopqrstuv", 22: "mnopqrstuv", 32: "", 40: ""} {
		if got, end, _ := follow(t, s, "task_a/1", offset); got != want || end != max(offset, 32) {
			t.Errorf("from %d: %q to %d, want %q", offset, got, end, want)
		}
	}
	if _, err := s.Piece("../x", 0, nil); !errors.Is(err, blob.ErrBadKey) {
		t.Errorf("a bad key: %v", err)
	}
}

// What pieces say is what a Reader says, whatever was written and from wherever one reads.
func TestPiecesAndReadersAgree(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		key := fmt.Sprintf("task_%d/1", n)
		var written int64
		for _, chunk := range rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}`), 0, 9).Draw(t, "chunks") {
			if _, err := s.Append(t.Context(), key, written, []byte(chunk)); err != nil {
				t.Fatal(err)
			}
			written += int64(len(chunk))
		}
		offset := rapid.Int64Range(0, 90).Draw(t, "offset")
		r, err := s.ReadFrom(key, offset)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		want := readAll(t, r)
		got := ""
		p := make([]byte, 1+rapid.IntRange(0, 9).Draw(t, "size"))
		for at := offset; ; {
			piece, err := s.Piece(key, at, p)
			if err != nil {
				t.Fatal(err)
			}
			if piece.At > at {
				got += fmt.Sprintf("\n[phonebooth: %d bytes left out]\n", piece.At-at)
			}
			got += string(p[:piece.N])
			at = piece.At + int64(piece.N)
			if piece.N == 0 {
				break
			}
		}
		if got != want {
			t.Fatalf("%d bytes from %d: pieces %q, reader %q", written, offset, got, want)
		}
	})
}

func TestALogIsOpenUntilItIsSaidToBeWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, blob.Options{})
	check := func(want bool, when string) {
		t.Helper()
		if _, _, open := follow(t, s, "task_a/1", 0); open != want {
			t.Errorf("%s: open %v, want %v", when, open, want)
		}
	}
	mustAppend(t, s, "task_a/1", 0, "one")
	check(false, "nothing was announced")
	if err := s.Announce("task_a/1"); err != nil {
		t.Fatal(err)
	}
	check(true, "announced")
	var gap *blob.GapError
	if err := s.Finish("task_a/1", 6); !errors.As(err, &gap) || gap.Next != 3 {
		t.Errorf("an end that is not there yet: %v, want a gap at 3", err)
	}
	check(true, "the end is not there")
	mustAppend(t, s, "task_a/1", 3, "two")
	s = open(t, dir, blob.Options{}) // as after SIGKILL
	check(true, "after a restart")
	for range 2 { // a repeat is harmless
		if err := s.Finish("task_a/1", 6); err != nil {
			t.Fatal(err)
		}
	}
	check(false, "whole")
	if err := s.Announce("task_a/1"); err != nil { // it was overtaken
		t.Fatal(err)
	}
	check(false, "announced behind its end")
	mustAppend(t, s, "task_a/1", 6, "three")
	check(true, "there is more than was said")
	for _, say := range []func() error{func() error { return s.Announce("task_b/1") }, func() error { return s.Finish("task_c/1", 0) }} {
		if err := say(); err != nil {
			t.Error(err)
		}
	}
	if _, _, open := follow(t, s, "task_b/1", 0); !open {
		t.Error("an empty log that was announced is not open")
	}
	if got := read(t, s, "task_b/1", 0) + read(t, s, "task_c/1", 0); got != "" {
		t.Errorf("empty logs hold %q", got)
	}
	mustAppend(t, s, "task_b/1", 0, "x")
	if err := s.Remove("task_b"); err != nil {
		t.Fatal(err)
	}
	if _, _, open := follow(t, s, "task_b/1", 0); open {
		t.Error("a removed log is open")
	}
}

func readAll(t *rapid.T, r io.Reader) string {
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
