package diskmap

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func keyOf(n note) string { return n.ID }

// TestMain is a writer that can be killed when it is told a directory.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DISKMAP_TEST_WRITER"); dir != "" {
		os.Exit(write(dir))
	}
	_ = flag.Set("rapid.checks", "20") // each step waits for the disk
	os.Exit(m.Run())
}

// write puts documents for ever, removing every seventh again, and tells of each step
// when it has been promised.
func write(dir string) int {
	notes, err := Open(dir, keyOf)
	for n := 0; err == nil; n++ {
		key := fmt.Sprintf("key-%d", n%3)
		if err = notes.Put(note{key, fmt.Sprint(n, strings.Repeat(" padding", 3000))}); err != nil {
			break
		}
		fmt.Println("put", key, n)
		if n%7 == 6 {
			err = notes.Remove(key)
			fmt.Println("removed", key, n)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func open(t *testing.T, dir string) *Map[note] {
	t.Helper()
	m, err := Open(dir, keyOf)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return m
}

func contents[T any](m *Map[T]) map[string]T {
	all := make(map[string]T)
	for key, doc := range m.All() {
		all[key] = doc
	}
	return all
}

func TestWhatWasPutIsThereAfterAnyHistory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		notes, err := Open(dir, keyOf)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]note)
		key := rapid.SampledFrom([]string{"a", "B", "lease_01", "-"})
		text := rapid.String()
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n := note{key.Draw(t, "key"), strings.ToValidUTF8(text.Draw(t, "text"), "?")}
				if err := notes.Put(n); err != nil {
					t.Fatal(err)
				}
				want[n.ID] = n
			},
			"add": func(t *rapid.T) {
				n := note{key.Draw(t, "key"), "added"}
				old, found := want[n.ID]
				there, added, err := notes.Add(n)
				if err != nil || added == found || found && there != old {
					t.Fatalf("Add = %v, %v, %v; had %v %v", there, added, err, old, found)
				}
				want[n.ID] = there
			},
			"update": func(t *rapid.T) {
				k := key.Draw(t, "key")
				err := notes.Update(k, func(n *note) { n.Text += "!" })
				if n, found := want[k]; found && err == nil {
					n.Text += "!"
					want[k] = n
				} else if found || !errors.Is(err, ErrAbsent) {
					t.Fatalf("Update: %v, with a document: %v", err, found)
				}
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if err := notes.Remove(k); err != nil {
					t.Fatal(err)
				}
				delete(want, k)
			},
			"restart": func(t *rapid.T) {
				if notes, err = Open(dir, keyOf); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(want, contents(notes)); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			},
		})
	})
}

func TestAWriterKilledAtAnyPointLosesNothingThatItPromised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 8 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), "DISKMAP_TEST_WRITER="+dir)
		stdout, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		last := make(map[string]step)
		lines := bufio.NewScanner(stdout)
		for told := 0; lines.Scan(); told++ {
			var s step
			var key string
			if _, err := fmt.Sscan(lines.Text(), &s.did, &key, &s.n); err != nil {
				t.Fatalf("the writer said %q: %v", lines.Text(), err)
			}
			last[key] = s
			if told == 10+round { // it goes on while the signal is on its way
				_ = writer.Process.Kill()
			}
		}
		_ = writer.Wait()
		checkPromises(t, open(t, dir), last)
	}
}

// step is the last thing that the writer told of a key.
type step struct {
	did string
	n   int
}

func checkPromises(t *testing.T, notes *Map[note], last map[string]step) {
	t.Helper()
	if bad := notes.Quarantined(); len(bad) != 0 {
		t.Fatalf("quarantined %+v, want every document whole", bad)
	}
	for key, s := range last {
		got, found := notes.Lookup(key)
		number := -1
		if found {
			_, _ = fmt.Sscan(got.Text, &number)
		}
		// The writer may have been one step ahead of what it told.
		switch {
		case s.did == "put" && found && number < s.n,
			s.did == "put" && !found && s.n%7 != 6,
			s.did == "removed" && found && number <= s.n:
			t.Errorf("%s: %s %d was promised, found %d (%v)", key, s.did, s.n, number, found)
		}
	}
}

func TestDamageIsSetAsideAndNeverHidesTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := open(t, dir).Put(note{"good", "kept"}); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"torn.json":            `{"id":"torn","te`,
		"empty.json":           "",
		"zeroes.json":          "\x00\x00\x00\x00",
		"null.json":            "null",
		"renamed.json":         `{"id":"another","text":"x"}`,
		"no key.json":          `{"id":"no key"}`,
		partialPrefix + "1234": `{"id":"half"`,
		"README":               "left alone",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notes := open(t, dir)
	if diff := cmp.Diff(map[string]note{"good": {"good", "kept"}}, contents(notes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	aside := make(map[string]bool)
	for _, bad := range notes.Quarantined() {
		aside[bad.Key] = true
		if _, err := os.Stat(bad.Path); err != nil || bad.Reason == "" || strings.Contains(bad.Reason, dir) {
			t.Errorf("quarantined %+v: %v; want the file at its path, and a reason without one", bad, err)
		}
	}
	want := map[string]bool{"torn": true, "empty": true, "zeroes": true, "null": true, "renamed": true, "no key": true}
	if diff := cmp.Diff(want, aside); diff != "" {
		t.Errorf("quarantined (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, partialPrefix+"1234")); err == nil {
		t.Error("what an interrupted write left is still there")
	}
	if again := open(t, dir).Quarantined(); len(again) != 0 {
		t.Errorf("at the next start quarantined %+v, want nothing twice", again)
	}
}

func TestWhatIsDamagedTwiceIsKeptTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, want := range []string{"torn.json.1", "torn.json.2"} {
		if err := os.WriteFile(filepath.Join(dir, "torn.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if bad := open(t, dir).Quarantined(); len(bad) != 1 || filepath.Base(bad[0].Path) != want {
			t.Errorf("quarantined %+v, want the file as %s", bad, want)
		}
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Put(note{"a", "secret"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "a.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
}

func TestAKeyCannotLeaveTheDirectory(t *testing.T) {
	t.Parallel()
	notes := open(t, t.TempDir())
	for _, key := range []string{"", ".", "..", "../a", "a/b", "a.b", "a\x00", "ä", strings.Repeat("k", 201)} {
		if err := notes.Put(note{ID: key}); !errors.Is(err, ErrKey) {
			t.Errorf("Put under %q: %v, want ErrKey", key, err)
		}
		if err := notes.Remove(key); !errors.Is(err, ErrKey) {
			t.Errorf("Remove of %q: %v, want ErrKey", key, err)
		}
	}
	if err := notes.Put(note{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := notes.Update("a", func(n *note) { n.ID = "b" }); !errors.Is(err, ErrKey) {
		t.Errorf("Update that changes the key: %v, want ErrKey", err)
	}
}

func TestAFullDiskIsToldApartAndNamesNoFile(t *testing.T) {
	t.Parallel()
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no full device")
	}
	if err := full(fill(device, []byte("x"))); !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) ||
		strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("write to a full device: %v, want ErrFull without the file's name", err)
	}
	if err := full(&os.LinkError{Op: "rename", Old: "secret", New: "secret", Err: syscall.EDQUOT}); !errors.Is(err, ErrFull) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("out of quota: %v, want ErrFull without the file's name", err)
	}
	if err := full(&os.PathError{Op: "open", Path: "secret", Err: syscall.EIO}); errors.Is(err, ErrFull) {
		t.Errorf("broken disk: %v, want no ErrFull", err)
	}
}

func TestAFailedPutChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notes := open(t, dir)
	if err := notes.Put(note{"a", "old"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	err := notes.Put(note{"a", "new"})
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("Put without a directory: %v, want an error without a path", err)
	}
	if got, _ := notes.Lookup("a"); got.Text != "old" {
		t.Errorf("Lookup = %+v, want the old document", got)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	var onDisk note
	data, _ := os.ReadFile(filepath.Join(dir, "a.json"))
	if err := json.Unmarshal(data, &onDisk); err != nil || onDisk.Text != "old" {
		t.Errorf("on the disk %+v, %v; want the old document", onDisk, err)
	}
}
