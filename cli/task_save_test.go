package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// keeper is a server that gives every artifact the same content, and breaks off when it is told to.
type keeper struct{ content, torn string }

func (k keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if k.torn != "" && strings.HasSuffix(r.URL.Path, k.torn) {
		w.Header().Set("Content-Length", "100")
	}
	_, _ = fmt.Fprint(w, k.content)
}

func listed(content string, names ...string) (list []v1.Artifact) {
	sum := sha256.Sum256([]byte(content))
	for _, name := range names {
		list = append(list, v1.Artifact{Attempt: 1, Name: name, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	}
	return list
}

// saving saves what is listed into dir, and gives what is on standard output.
func saving(t *testing.T, k keeper, dir string, list []v1.Artifact) (string, error) {
	t.Helper()
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	cmd := verb(t)
	var out bytes.Buffer
	cmd.SetOut(&out)
	err = saveArtifacts(cmd, c, "task_1", dir, list, formatTable)
	return out.String(), err
}

// files are the contents of all files below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNothingIsSavedOutsideOfTheDirectory(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir, elsewhere := filepath.Join(above, "out"), filepath.Join(above, "elsewhere")
	for _, d := range []string{dir, elsewhere} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere/new", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	names := []string{"../a", "a/../../a", filepath.Join(elsewhere, "a"), "", ".", "..", "link/a", "dangling"}
	out, err := saving(t, keeper{content: "x"}, dir, listed("x", append(names, "a/b", "a", "\x1b[31mred")...))
	for _, name := range append(names, "a") { // a is a directory by then
		if err == nil || !strings.Contains(err.Error(), name+" is not saved: ") {
			t.Errorf("%q is not refused: %v", name, err)
		}
	}
	if want := filepath.Join(dir, "a", "b") + "\n" + filepath.Join(dir, "\ufffd[31mred") + "\n"; out != want {
		t.Errorf("standard output is %q, want %q", out, want)
	}
	for _, link := range []string{"link", "dangling"} {
		if err := os.Remove(filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"out/a/b": "x", "out/\x1b[31mred": "x"}, files(t, above)); diff != "" {
		t.Errorf("the files are (-want +got):\n%s", diff)
	}
}

func TestWhatIsThereIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"same": "new", "other": "old", "longer": "newer"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := saving(t, keeper{content: "new"}, dir, listed("new", "longer", "other", "same", "z"))
	if !errors.Is(err, errDiffers) || strings.Contains(err.Error(), "same") || exitCode(err) != exitFailed {
		t.Errorf("got %v", err)
	}
	want := map[string]string{"same": "new", "other": "old", "longer": "newer", "z": "new"}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("the files are (-want +got):\n%s", diff)
	}
}

func TestATornArtifactIsNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := saving(t, keeper{content: "new", torn: "/b"}, dir, listed("new", "a", "b", "c"))
	if exitCode(err) != exitUnreachable || !strings.Contains(err.Error(), "before all of b was read") {
		t.Errorf("a connection that broke: %v", err)
	}
	if _, err := saving(t, keeper{content: "newer"}, dir, listed("new", "d")); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "d is not saved") {
		t.Errorf("other bytes than were listed: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "new"}, files(t, dir)); diff != "" {
		t.Errorf("the files are (-want +got):\n%s", diff)
	}
}

// arriving is a server with one artifact more at each look, until all are there.
func arriving(content string, all []v1.Artifact) http.Handler {
	there := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/task_1"):
			_ = json.NewEncoder(w).Encode(v1.Task{ID: "task_1", Attempt: 1})
		case strings.HasSuffix(r.URL.Path, "/artifacts"):
			there = min(there+1, len(all))
			_ = json.NewEncoder(w).Encode(v1.ArtifactList{Artifacts: all[:there], Coming: len(all) - there})
		default:
			_, _ = fmt.Fprint(w, content)
		}
	})
}

func TestArtifactsThatAreOnTheirWayAreWaitedForAndSaved(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(arriving("x", listed("x", "a", "b")))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	dir, cmd := t.TempDir(), verb(t)
	if err := saveAll(cmd, c, "task_1", 0, dir, formatTable); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "x", "b": "x"}, files(t, dir)); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
}
