package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

const files = "task_a/1.artifacts"

func described(name, content string) blob.Artifact {
	sum := sha256.Sum256([]byte(content))
	return blob.Artifact{Name: name, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func put(t testing.TB, s *blob.Store, key, name, content string) error {
	t.Helper()
	return s.PutArtifact(t.Context(), key, described(name, content), strings.NewReader(content))
}

func mustPut(t testing.TB, s *blob.Store, key, name, content string) {
	t.Helper()
	if err := put(t, s, key, name, content); err != nil {
		t.Fatalf("put %q: %v", name, err)
	}
}

func content(t testing.TB, s *blob.Store, key, name string) string {
	t.Helper()
	f, err := s.Artifact(key, name)
	if err != nil {
		t.Fatalf("open %q: %v", name, err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// left lists every file below dir.
func left(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestArtifactsAreReadUnderTheirNames(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), blob.Options{})
	names := []string{"a", "A", "a.png", "shot/screen.png", "shot", " ", "-rf", "日本/ü.txt", `back\slash`, "a:b|c?*<>\"", strings.Repeat("x", 255), "@000000000000", "..."}
	for _, name := range names {
		mustPut(t, s, files, name, "of "+name)
	}
	mustPut(t, s, files, "empty", "")
	mustPut(t, s, "task_a/2.artifacts", "a", "of another attempt")
	mustAppend(t, s, "task_a/1.runner", 0, "a log beside them")
	for _, name := range names {
		if got := content(t, s, files, name); got != "of "+name {
			t.Errorf("%q holds %q", name, got)
		}
	}
	list, err := s.Artifacts(files)
	if err != nil || len(list) != len(names)+1 {
		t.Fatalf("the list has %d, %v; want %d", len(list), err, len(names)+1)
	}
	for i, a := range list {
		if i > 0 && list[i-1].Name >= a.Name {
			t.Errorf("%q is listed behind %q", a.Name, list[i-1].Name)
		}
		if want := described(a.Name, "of "+a.Name); a.Name != "empty" && a != want {
			t.Errorf("listed as %+v, want %+v", a, want)
		}
	}
	if _, err := s.Artifact(files, "b"); !errors.Is(err, blob.ErrNoArtifact) {
		t.Errorf("one that is not there: %v", err)
	}
	if list, err := s.Artifacts("task_b/1.artifacts"); err != nil || len(list) != 0 {
		t.Errorf("a key without artifacts lists %v, %v", list, err)
	}
}

func TestARepeatIsNotReadAndAnotherContentReplaces(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), blob.Options{Artifacts: 1})
	mustPut(t, s, files, "a", "one")
	if err := s.PutArtifact(t.Context(), files, described("a", "one"), iotest.ErrReader(errors.New("it was read"))); err != nil {
		t.Errorf("the same again: %v", err)
	}
	old, err := s.Artifact(files, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	mustPut(t, s, files, "a", "another")
	if got := content(t, s, files, "a"); got != "another" {
		t.Errorf("it holds %q", got)
	}
	if got, err := io.ReadAll(old); err != nil || string(got) != "one" {
		t.Errorf("who had it open reads %q, %v", got, err)
	}
}

func TestARefusedArtifactLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := false
	s := open(t, dir, blob.Options{ArtifactBytes: 8, Artifacts: 2, Room: func(int64) bool { return !full }})
	mustPut(t, s, files, "a", "one")
	mustPut(t, s, files, "b", "two")
	before := left(t, dir)
	broken := errors.New("the connection broke")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var over *blob.LimitError
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"too large":          {put(t, s, files, "a", "123456789"), &over},
		"one too many":       {put(t, s, files, "c", "3"), &over},
		"a broken body":      {s.PutArtifact(t.Context(), files, described("a", "1234"), io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken))), broken},
		"a short body":       {s.PutArtifact(t.Context(), files, described("a", "1234"), strings.NewReader("12")), blob.ErrShort},
		"a long body":        {s.PutArtifact(t.Context(), files, described("a", "1234"), strings.NewReader("12345")), blob.ErrMismatch},
		"other bytes":        {s.PutArtifact(t.Context(), files, described("a", "1234"), strings.NewReader("1235")), blob.ErrMismatch},
		"a bad name":         {put(t, s, files, "../a", "1"), blob.ErrBadName},
		"a bad key":          {put(t, s, "../x", "a", "1"), blob.ErrBadKey},
		"a caller that left": {s.PutArtifact(gone, files, described("a", "1234"), strings.NewReader("1234")), context.Canceled},
	} {
		if target, ok := c.want.(error); ok && !errors.Is(c.err, target) || !ok && !errors.As(c.err, c.want) {
			t.Errorf("%s: got %v", name, c.err)
		}
	}
	full = true
	if err := put(t, s, files, "a", "uno"); !errors.Is(err, blob.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := put(t, s, files, "a", "one"); err != nil {
		t.Errorf("what is there already, on a full disk: %v", err)
	}
	if diff := cmp.Diff(before, left(t, dir)); diff != "" {
		t.Errorf("the files have changed:\n%s", diff)
	}
	if got := content(t, s, files, "a"); got != "one" {
		t.Errorf("a holds %q", got)
	}
}

func TestWhatADeadProcessHalfReceivedIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, blob.Options{})
	mustPut(t, s, files, "a", "one")
	body, feed := io.Pipe()
	ended := make(chan error)
	go func() { ended <- s.PutArtifact(t.Context(), files, described("b", "1234"), body) }()
	if _, err := feed.Write([]byte("12")); err != nil { // it has begun
		t.Fatal(err)
	}
	if n := len(left(t, dir)); n != 2 {
		t.Fatalf("%d files while an upload is under way, want 2", n)
	}
	mustAppend(t, s, "task_a/1.runner", 0, "an upload stops no log")
	again := open(t, dir, blob.Options{}) // as after SIGKILL
	if list, err := again.Artifacts(files); err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("the list is %v, %v", list, err)
	}
	if found := left(t, dir); len(found) != 2 { // a and the log
		t.Errorf("left is %v", found)
	}
	_ = feed.Close()
	if err := <-ended; !errors.Is(err, blob.ErrShort) {
		t.Errorf("the torn upload: %v", err)
	}
}

func TestOneNameAtOnceIsOneOfThemWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, blob.Options{Artifacts: 4})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := put(t, s, files, "same", strings.Repeat(fmt.Sprintf("%x", i), 5000)); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		all.Go(func() { // of many names at once no more than are allowed
			var over *blob.LimitError
			if err := put(t, s, "task_a/2.artifacts", fmt.Sprint(i), "x"); err != nil && !errors.As(err, &over) {
				t.Errorf("put: %v", err)
			}
		})
	}
	all.Wait()
	got := content(t, s, files, "same")
	if len(got) != 5000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("it holds %d bytes of several", len(got))
	}
	if list, err := s.Artifacts("task_a/2.artifacts"); err != nil || len(list) != 4 {
		t.Errorf("there are %d, %v; want the 4 that are allowed", len(list), err)
	}
	if found := left(t, dir); len(found) != 5 {
		t.Errorf("left is %v", found)
	}
}

func TestArtifactsGoWithTheirTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, blob.Options{})
	mustPut(t, s, files, "a", "one")
	mustAppend(t, s, "task_a/1.runner", 0, "x")
	f, err := s.Artifact(files, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Remove("task_a"); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir); len(found) != 0 {
		t.Errorf("left is %v", found)
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != "one" {
		t.Errorf("who had it open reads %q, %v", got, err)
	}
}

func TestASpoiltArtifactIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, blob.Options{})
	mustPut(t, s, files, "a", "one")
	for _, text := range []string{"", "no line", "{}\n", "[]\nx", strings.Repeat("x", 9000)} {
		if err := os.WriteFile(left(t, dir)[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Artifact(files, "a"); err == nil {
			t.Errorf("a file of %.20q was opened", text)
		}
		if _, err := s.Artifacts(files); err == nil {
			t.Errorf("a file of %.20q was listed", text)
		}
	}
}

func FuzzArtifactName(f *testing.F) {
	for _, name := range []string{
		"a", "a/b", "", ".", "..", "a/../b", "/a", "a/", "a//b", "a\x00b", "a\nb", "\xff", `..\..\x`, "~", "a/.", "…", strings.Repeat("x", 256),
		strings.Repeat("x/", 256) + "x", "\u0085", "=a", "@uploads/1",
	} {
		f.Add(name)
	}
	dir := f.TempDir()
	s := open(f, dir, blob.Options{})
	f.Fuzz(func(t *testing.T, name string) {
		err := put(t, s, files, name, name)
		if valid := blob.ValidName(name); valid != (err == nil) || !valid && !errors.Is(err, blob.ErrBadName) {
			t.Fatalf("%q is valid: %v, and put says %v", name, valid, err)
		}
		if err != nil {
			return
		}
		if got := content(t, s, files, name); got != name {
			t.Errorf("%q holds %q", name, got)
		}
		for _, path := range left(t, dir) {
			if rel, err := filepath.Rel(filepath.Join(dir, filepath.FromSlash(files)), path); err != nil || !filepath.IsLocal(rel) || bytes.ContainsRune([]byte(rel), '/') {
				t.Errorf("%q made %s", name, path)
			}
		}
		if err := s.Remove(files); err != nil {
			t.Fatal(err)
		}
	})
}

func TestArtifactsThatArriveTogetherShareTheRoom(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), blob.Options{Room: func(n int64) bool { return n <= 10 }})
	body, sender := io.Pipe()
	first := make(chan error, 1)
	go func() { first <- s.PutArtifact(t.Context(), "task_x/1", described("a", "12345678"), body) }()
	if _, err := io.WriteString(sender, "1234"); err != nil { // it is on its way
		t.Fatal(err)
	}
	if err := put(t, s, "task_x/1", "b", "12345678"); !errors.Is(err, blob.ErrFull) {
		t.Errorf("a second one beside it: %v, want that there is no room", err)
	}
	if _, err := io.WriteString(sender, "5678"); err != nil {
		t.Fatal(err)
	}
	sender.Close()
	if err := <-first; err != nil {
		t.Errorf("the first one: %v", err)
	}
	if err := put(t, s, "task_x/1", "b", "12345678"); err != nil {
		t.Errorf("the second one afterwards: %v", err)
	}
}
