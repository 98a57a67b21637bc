package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"pgregory.net/rapid"
)

// small keeps the first 8 and the last 12 bytes at least.
var small = blob.Options{SegmentBytes: 4, HeadSegments: 2, TailSegments: 3}

func open(t testing.TB, dir string, opt blob.Options) *blob.Store {
	t.Helper()
	s, err := blob.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAppend(t testing.TB, s *blob.Store, key string, offset int64, p string) {
	t.Helper()
	next, err := s.Append(t.Context(), key, offset, []byte(p))
	if err != nil {
		t.Fatalf("append %q at %d: %v", p, offset, err)
	}
	if want := offset + int64(len(p)); next != want {
		t.Fatalf("append %q at %d: next = %d, want %d", p, offset, next, want)
	}
}

func read(t testing.TB, s *blob.Store, key string, offset int64) string {
	t.Helper()
	r, err := s.ReadFrom(key, offset)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "made", "here"), blob.Options{})
	mustAppend(t, s, "task_a/1", 0, "one ")
	mustAppend(t, s, "task_a/1", 4, "two")
	mustAppend(t, s, "task_a/2", 0, "other")
	for key, want := range map[string]string{"task_a/1": "one two", "task_a/2": "other", "task_b/1": ""} {
		if got := read(t, s, key, 0); got != want {
			t.Errorf("log %s = %q, want %q", key, got, want)
		}
		if size, err := s.Size(key); err != nil || size != int64(len(want)) {
			t.Errorf("size of %s = %d, %v, want %d", key, size, err, len(want))
		}
	}
	for offset, want := range map[int64]string{0: "one two", 4: "two", 7: "", 99: "", -1: "one two"} {
		if got := read(t, s, "task_a/1", offset); got != want {
			t.Errorf("from %d: %q, want %q", offset, got, want)
		}
	}
}

func TestC38_ChunksTwiceOutOfOrderOrWithAGap(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	mustAppend(t, s, "k", 0, "abcdef")
	steps := []struct {
		name   string
		offset int64
		chunk  string
		next   int64
		gap    bool
		want   string
	}{
		{"the same again", 0, "abcdef", 6, false, "abcdef"},
		{"an older one again", 2, "cd", 6, false, "abcdef"},
		{"an overlap with news", 4, "efgh", 8, false, "abcdefgh"},
		{"too early", 10, "kl", 8, true, "abcdefgh"},
		{"the one that was missing", 8, "ij", 10, false, "abcdefghij"},
		{"now in order", 10, "kl", 12, false, "abcdefghijkl"},
		{"nothing, in place", 12, "", 12, false, "abcdefghijkl"},
		{"nothing, too early", 13, "", 12, true, "abcdefghijkl"},
	}
	for _, step := range steps {
		next, err := s.Append(t.Context(), "k", step.offset, []byte(step.chunk))
		var gap *blob.GapError
		if errors.As(err, &gap) != step.gap || (err != nil && !step.gap) {
			t.Fatalf("%s: error %v, want a gap: %v", step.name, err, step.gap)
		}
		if gap != nil && gap.Next != step.next {
			t.Errorf("%s: gap.Next = %d, want %d", step.name, gap.Next, step.next)
		}
		if next != step.next {
			t.Errorf("%s: next = %d, want %d", step.name, next, step.next)
		}
		if got := read(t, s, "k", 0); got != step.want {
			t.Errorf("%s: log %q, want %q", step.name, got, step.want)
		}
	}
}

func TestC37_LongLogKeepsHeadAndTailWithAMarker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	var all strings.Builder
	for i := range 100 {
		chunk := fmt.Sprintf("%03d\x00\xff", i) // binary is as good as text
		mustAppend(t, s, "k", int64(all.Len()), chunk)
		all.WriteString(chunk)
	}
	whole := all.String()
	want := whole[:8] + "\n[phonebooth: 480 bytes left out]\n" + whole[488:]
	if diff := cmp.Diff(want, read(t, s, "k", 0)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got, want := read(t, s, "k", 100), "\n[phonebooth: 388 bytes left out]\n"+whole[488:]; got != want {
		t.Errorf("from among the bytes left out: %q, want %q", got, want)
	}
	if got, want := read(t, s, "k", 490), whole[490:]; got != want {
		t.Errorf("from the tail: %q, want %q", got, want)
	}
	files, err := os.ReadDir(filepath.Join(dir, "k"))
	if err != nil || len(files) > 6 {
		t.Errorf("%d files are kept, want 6 at most (%v)", len(files), err)
	}
}

// A log of 5 GiB is not written here: its files are laid out as they are at that
// length, at the limits of production, and the log goes on from there.
func TestC37_LogOf5GiB(t *testing.T) {
	t.Parallel()
	const segmentBytes, length = 1 << 20, 5 << 30
	dir := t.TempDir()
	plant := func(i int64) {
		f, err := os.Create(filepath.Join(dir, "k", fmt.Sprintf("@%012d", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(segmentBytes), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "k"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range int64(8) {
		plant(i)
		plant(length/segmentBytes - 8 + i)
	}
	s := open(t, dir, blob.Options{})

	line := bytes.Repeat([]byte("x"), 10<<20) // a line of 10 MiB
	next, err := s.Append(t.Context(), "k", length, line)
	if err != nil || next != length+10<<20 {
		t.Fatalf("append at 5 GiB: %d, %v", next, err)
	}
	r, err := s.Read("k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	want := int64(16<<20 + len("\n[phonebooth: 5362417664 bytes left out]\n"))
	if err != nil || n != want || r.End() != next {
		t.Errorf("read %d bytes up to %d, %v, want %d up to %d", n, r.End(), err, want, next)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store"), small)
	keys := []string{
		"", "/", "/etc", "..", "../x", "a/..", "a/../b", "a//b", "a/", "./a", ".a", "a/.b", "@000000000000", "a/@0",
		"-a", `a\b`, "a b", "a\x00b", "ä", "a\n", strings.Repeat("a", 256),
	}
	for _, key := range keys {
		if _, err := s.Append(t.Context(), key, 0, []byte("x")); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("append to %q: %v, want ErrBadKey", key, err)
		}
		if _, err := s.Read(key); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("read %q: %v, want ErrBadKey", key, err)
		}
		if _, err := s.Size(key); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("size of %q: %v, want ErrBadKey", key, err)
		}
		if err := s.Remove(key); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("remove %q: %v, want ErrBadKey", key, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("bad keys made files: %v", entries)
	}
}

func TestALinkDoesNotLeadOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "task_a")); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, small)
	if _, err := s.Append(t.Context(), "task_a/1", 0, []byte("x")); err == nil {
		t.Error("append followed a link out of the directory")
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("files outside: %v", entries)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	for _, key := range []string{"task_a/1", "task_a/2", "task_ab/1", "task_a"} {
		mustAppend(t, s, key, 0, "x")
	}
	remove := func(key string) {
		t.Helper()
		if err := s.Remove(key); err != nil {
			t.Fatal(err)
		}
	}
	remove("task_a/1")
	if got := read(t, s, "task_a/1", 0) + read(t, s, "task_a/2", 0) + read(t, s, "task_a", 0); got != "xx" {
		t.Errorf("after removing task_a/1 the others read %q, want xx", got)
	}
	remove("task_a")
	remove("task_a") // twice is as once
	remove("task_ab/1")
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("after removing all: %v is left", entries)
	}
	mustAppend(t, s, "task_a/1", 0, "anew")
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	if _, err := s.Append(t.Context(), "k", -1, []byte("x")); err == nil {
		t.Error("a negative offset was taken")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(gone, "k", 0, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("append after the caller left: %v, want Canceled", err)
	}
	if _, err := blob.Open(t.TempDir(), blob.Options{SegmentBytes: -1}); err == nil {
		t.Error("a negative limit was taken")
	}
	mustAppend(t, s, "k", 0, "x")
	if err := os.WriteFile(filepath.Join(dir, "k", "@surprise"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read("k"); err == nil {
		t.Error("a file that is no segment was passed over in silence")
	}
}

func TestAReaderSeesTheLogAsItWas(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	mustAppend(t, s, "k", 0, "0123456789abcdef")
	r, err := s.Read("k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustAppend(t, s, "k", 16, strings.Repeat("x", 100)) // evicts what the reader has yet to read
	if err := s.Remove("k"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); string(got) != "0123456789abcdef" || err != nil {
		t.Errorf("read %q, %v, want the 16 bytes of the beginning", got, err)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	const text = "every writer sends this whole text, byte by byte, and it is stored once"
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range len(text) {
				if _, err := s.Append(t.Context(), "k", int64(i), []byte(text[i:i+1])); err != nil {
					t.Errorf("append byte %d: %v", i, err)
				}
			}
		})
		wg.Go(func() {
			for range len(text) {
				if got := read(t, s, "k", 0); !strings.HasPrefix(got, text[:min(8, len(got))]) {
					t.Errorf("read %q in between", got)
				}
			}
		})
	}
	wg.Wait()
	want := text[:8] + fmt.Sprintf("\n[phonebooth: %d bytes left out]\n", 56-8) + text[56:]
	if got := read(t, s, "k", 0); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

// model is a log that keeps everything.
type model struct{ all []byte }

// want is what the store must read from offset on: it may keep more of the tail than
// the limits ask, never less, and it cuts at whole segments.
func (m model) want(opt blob.Options, offset int) string {
	head := int(opt.HeadSegments * opt.SegmentBytes)
	full := len(m.all) / int(opt.SegmentBytes)
	tail := max(head, (full-int(opt.TailSegments))*int(opt.SegmentBytes))
	tail = min(tail, len(m.all))
	var b strings.Builder
	if offset < min(head, len(m.all)) {
		b.Write(m.all[offset:min(head, len(m.all))])
	}
	if from := max(head, offset); from < tail {
		fmt.Fprintf(&b, "\n[phonebooth: %d bytes left out]\n", tail-from)
	}
	if from := max(tail, offset); from < len(m.all) {
		b.Write(m.all[from:])
	}
	return b.String()
}

const wideBytes = 16

// wide makes fewer files out of as many bytes as small.
var wide = blob.Options{SegmentBytes: wideBytes, HeadSegments: 2, TailSegments: 3}

func TestAnyOrderOfChunksCrashesAndReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s := open(t, dir, wide)
		var m model
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				offset := rapid.IntRange(0, len(m.all)+3).Draw(rt, "offset")
				fresh := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "fresh")
				chunk := append(bytes.Clone(m.all[min(offset, len(m.all)):]), fresh...)
				next, err := s.Append(t.Context(), "k", int64(offset), chunk)
				if gap := new(blob.GapError); errors.As(err, &gap) != (offset > len(m.all)) {
					rt.Fatalf("append at %d to %d: %v", offset, len(m.all), err)
				}
				if offset <= len(m.all) {
					m.all = append(m.all, fresh...)
				}
				if next != int64(len(m.all)) {
					rt.Fatalf("next = %d, want %d", next, len(m.all))
				}
			},
			"killed in mid-append": func(rt *rapid.T) {
				// The process dies having written a part of a chunk: the part counts.
				part := rapid.SliceOfN(rapid.Byte(), 1, wideBytes).Draw(rt, "part")
				room := wideBytes - len(m.all)%wideBytes
				part = part[:min(len(part), room)]
				tearSegment(rt, dir, len(m.all), part)
				m.all = append(m.all, part...)
				s = open(t, dir, wide)
			},
			"": func(rt *rapid.T) {
				offset := rapid.IntRange(0, len(m.all)+1).Draw(rt, "from")
				if got, want := read(t, s, "k", int64(offset)), m.want(wide, offset); got != want {
					// A kill between filling a segment and evicting leaves one more.
					if !keepsMore(got, want, m.all, offset) {
						rt.Fatalf("from %d of %d: %q, want %q", offset, len(m.all), got, want)
					}
				}
			},
		})
	})
}

// keepsMore tells whether got, though not want, is right in its beginning and its end
// and leaves out less.
func keepsMore(got, want string, all []byte, offset int) bool {
	_, gotTail, _ := strings.Cut(got, " bytes left out]\n")
	_, wantTail, cut := strings.Cut(want, " bytes left out]\n")
	if !cut {
		return false
	}
	if gotTail == "" {
		return got == string(all[offset:])
	}
	return strings.HasSuffix(gotTail, wantTail) && strings.HasSuffix(string(all), gotTail)
}

// tearSegment writes part where the store would, without the store.
func tearSegment(rt *rapid.T, dir string, at int, part []byte) {
	if err := os.MkdirAll(filepath.Join(dir, "k"), 0o700); err != nil {
		rt.Fatal(err)
	}
	name := filepath.Join(dir, "k", fmt.Sprintf("@%012d", at/wideBytes))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		rt.Fatal(err)
	}
	_, err = f.Write(part)
	if err = errors.Join(err, f.Close()); err != nil {
		rt.Fatal(err)
	}
}

func TestAfterACrashOfTheMachineTheLogEndsWhereItIsTorn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	mustAppend(t, s, "k", 0, "0123456789abcdefghij") // segments 0 to 4
	if err := os.Truncate(filepath.Join(dir, "k", "@000000000003"), 2); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	if got := read(t, s, "k", 0); got != "0123456789abcd" {
		t.Errorf("log %q, want what is before the tear", got)
	}
	next, err := s.Append(t.Context(), "k", 20, []byte("klm"))
	if gap := new(blob.GapError); !errors.As(err, &gap) || next != 14 {
		t.Fatalf("append behind the tear: %d, %v, want a gap at 14", next, err)
	}
	mustAppend(t, s, "k", 14, "efghijklm")
	if got := read(t, s, "k", 0); got != "0123456789abcdefghijklm" {
		t.Errorf("log %q after sending again", got)
	}
	if err := os.Remove(filepath.Join(dir, "k", "@000000000000")); err != nil {
		t.Fatal(err)
	}
	if size, err := s.Size("k"); err != nil || size != 0 {
		t.Errorf("size without the first segment = %d, %v, want 0: all is to be sent again", size, err)
	}
}
