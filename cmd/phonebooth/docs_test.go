//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheQuickStartIsTypedAsItStands runs every block of docs/quickstart.md that is marked sh and nothing more: the one that
// starts dev in a terminal of its own, the others in one shell, in their order.
func TestTheQuickStartIsTypedAsItStands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBooth(t)
	bin := filepath.Join(b.home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(bin, "phonebooth")); err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	for i, block := range blocks {
		if words := strings.Fields(block[1]); i == 0 && words[0] == "phonebooth" && words[1] == "dev" {
			b.start(t, append(words[1:], "--listen", freeAddress(t), "--adb", "off")...).expect(t, planeReady)
			continue
		}
		script += block[1]
	}
	if len(blocks) < 5 {
		t.Fatalf("%d blocks, want the whole quick start", len(blocks))
	}
	sh := exec.Command("sh", "-x")
	sh.Dir, sh.Stdin = b.home, strings.NewReader(script)
	for _, entry := range b.env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			entry = "PATH=" + bin + ":" + path
		}
		sh.Env = append(sh.Env, entry)
	}
	said, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("the quick start fails: %v\n%s", err, said)
	}
	for _, want := range []string{"hello Ada", "and goodbye", "known devices has the tag", "cancelled"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}
