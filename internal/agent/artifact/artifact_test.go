package artifact_test

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/agent/artifact"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(files []artifact.File) (all []string) {
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}

func TestFilesAreKeptByTheirPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"artifacts/b.txt", "artifacts/a/deep/x.png", "artifacts/-rf", "report.xml", "out/one.log", "out/sub/two.log", "other", "input.json",
	} {
		write(t, dir, name, name)
	}
	for _, c := range []struct {
		rules artifact.Rules
		want  []string
	}{
		{artifact.Rules{}, []string{"-rf", "a/deep/x.png", "b.txt"}},
		{artifact.Rules{Prefix: "shot"}, []string{"shot/-rf", "shot/a/deep/x.png", "shot/b.txt"}},
		{artifact.Rules{Keep: []string{"*.xml", "out/*.log"}}, []string{"-rf", "a/deep/x.png", "b.txt", "out/one.log", "report.xml"}},
		{artifact.Rules{Keep: []string{"out/", "*.json"}, Except: []string{"input.json"}}, []string{"-rf", "a/deep/x.png", "b.txt", "out/one.log", "out/sub/two.log"}},
		{artifact.Rules{Keep: []string{"../*", "/etc/passwd", "[", "artifacts/b.txt"}}, []string{"-rf", "a/deep/x.png", "b.txt"}},
	} {
		got, refused := artifact.Collect(dir, c.rules)
		if diff := cmp.Diff(c.want, names(got)); diff != "" || len(refused) > 0 {
			t.Errorf("%+v: refused %q (-want +got):\n%s", c.rules, refused, diff)
		}
	}
	files, _ := artifact.Collect(dir, artifact.Rules{Prefix: "p"})
	file, err := artifact.Open(dir, files[1])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); string(text) != "artifacts/a/deep/x.png" || err != nil {
		t.Errorf("%s holds %q, %v", files[1].Name, text, err)
	}
}

func TestWhatIsNoRegularFileIsRefusedAndSaysWhy(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "shadow", "not yours")
	write(t, dir, "artifacts/good", "good")
	in := func(name string) string { return filepath.Join(dir, "artifacts", name) }
	for name, to := range map[string]string{"link": filepath.Join(outside, "shadow"), "up": "../../../../etc/passwd", "dir": outside, "self": "self"} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	device := syscall.Mknod(in("device"), syscall.S_IFCHR|0o600, 1<<8|3) // needs root
	write(t, dir, "artifacts/new\nline", "x")
	files, refused := artifact.Collect(dir, artifact.Rules{Keep: []string{"*"}})
	if diff := cmp.Diff([]string{"good"}, names(files)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	all := strings.Join(refused, "\n")
	for name, why := range map[string]string{
		"link": "symbolic link", "up": "symbolic link", "dir": "symbolic link", "self": "symbolic link", "pipe": "no regular file", `new\nline`: "control characters",
	} {
		if want := fmt.Sprintf(`"%s" is not kept: `, name); !strings.Contains(all, want) || !strings.Contains(all, why) {
			t.Errorf("refused:\n%s\nwant %s%s", all, want, why)
		}
	}
	if device == nil && !strings.Contains(all, `"device" is not kept: it is no regular file`) {
		t.Errorf("refused:\n%s\nwant the device too", all)
	}
}

func TestADirectoryThatBecameALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "shadow", "not yours")
	if err := os.Symlink(outside, filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	files, refused := artifact.Collect(dir, artifact.Rules{})
	if len(files) > 0 || len(refused) != 1 {
		t.Errorf("kept %v, refused %q, want nothing and why", files, refused)
	}
	if got, crowded := artifact.Measure(dir); got != 0 || crowded {
		t.Errorf("it measures %d bytes, want 0", got)
	}
	// A file that is changed for a link after it was listed.
	dir = t.TempDir()
	write(t, dir, "artifacts/a", "a")
	write(t, dir, "elsewhere", "b")
	files, _ = artifact.Collect(dir, artifact.Rules{})
	if err := os.Remove(filepath.Join(dir, "artifacts/a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", filepath.Join(dir, "artifacts/a")); err != nil {
		t.Fatal(err)
	}
	if file, err := artifact.Open(dir, files[0]); err == nil {
		t.Error("a link was opened")
		_ = file.Close()
	}
	if file, err := artifact.Open(dir, artifact.File{Path: "../" + filepath.Base(outside) + "/shadow", Bytes: 9}); err == nil {
		t.Error("a path that climbs out was opened")
		_ = file.Close()
	}
}

func TestLimitsOfArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "artifacts/a", "12345")
	write(t, dir, "artifacts/b", "12345")
	write(t, dir, "artifacts/c", "1")
	if got, crowded := artifact.Measure(dir); got != 11 || crowded {
		t.Errorf("they measure %d bytes, want 11", got)
	}
	files, refused := artifact.Collect(dir, artifact.Rules{Bytes: 6})
	if diff := cmp.Diff([]string{"a", "c"}, names(files)); diff != "" || len(refused) != 1 || !strings.Contains(refused[0], "at most 6 bytes") {
		t.Errorf("refused %q (-want +got):\n%s", refused, diff)
	}
	big, err := os.Create(filepath.Join(dir, "artifacts", "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if err := big.Truncate(artifact.MaxFileBytes + 1); err != nil { // a hole, not bytes
		t.Fatal(err)
	}
	if _, refused = artifact.Collect(dir, artifact.Rules{}); len(refused) != 1 || !strings.Contains(refused[0], "1 GiB") {
		t.Errorf("refused %q, want the file that is too large", refused)
	}
	many := t.TempDir()
	for i := range artifact.MaxFiles + 30 {
		write(t, many, fmt.Sprintf("artifacts/%04d", i), "")
	}
	files, refused = artifact.Collect(many, artifact.Rules{})
	if len(files) != artifact.MaxFiles || len(refused) != 21 || refused[20] != "and 10 more files are not kept" {
		t.Errorf("%d files, %d refused, want %d, and 20 by name and how many more", len(files), len(refused), artifact.MaxFiles)
	}
}

func TestDirectoriesThatAreTooDeepAreNotLookedAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := path.Join("artifacts", strings.Repeat("d/", 400))
	write(t, dir, path.Join(deep, "a"), "1")
	write(t, dir, "artifacts/b", "1")
	files, refused := artifact.Collect(dir, artifact.Rules{Keep: []string{"*.txt"}})
	if diff := cmp.Diff([]string{"b"}, names(files)); diff != "" || len(refused) != 1 || !strings.Contains(refused[0], "its path is longer than 512 bytes") {
		t.Errorf("refused %q (-want +got):\n%s", refused, diff)
	}
	if _, crowded := artifact.Measure(dir); !crowded {
		t.Error("what is too deep to be measured is not said to be so")
	}
}

func TestADirectoryWithMoreThanCanBeLookedAtIsSaidToBeCrowded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, artifact.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range artifact.MaxEntries + 1 {
		if err := os.Symlink("nowhere", filepath.Join(dir, artifact.Dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, crowded := artifact.Measure(dir); !crowded {
		t.Errorf("%d entries are not crowded", artifact.MaxEntries+1)
	}
}
