//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/client"
)

func TestTheQuickStartIsTypedAsItStands(t *testing.T) {
	t.Parallel()
	said, blocks := newBooth(t).typed(t, "../../docs/quickstart.md")
	if blocks < 5 {
		t.Fatalf("%d blocks, want the whole quick start", blocks)
	}
	for _, want := range []string{"hello Ada", "and goodbye", "known devices has the tag", "cancelled"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}

func TestThePageForAgentsIsTypedAsItStands(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "2", "--adb", "off")
	p.waitDevices(t, 2)
	said, _ := b.typed(t, "../../docs/agents.md")
	if !strings.Contains(said, "\nhello\n") {
		t.Errorf("no log says hello:\n%s", said)
	}
	if page, err := p.client.Tasks(t.Context(), client.TaskQuery{}); err != nil || len(page.Tasks) != 1 || page.Tasks[0].Status != "done" {
		t.Errorf("the tasks are %+v, %v; want one, done: a key was given twice", page.Tasks, err)
	}
}

// typed types every block of a page that is marked sh and nothing more: one that starts dev and comes first in a terminal of
// its own, the others in one shell, in their order. It returns what they say, and how many there are.
func (b *booth) typed(t *testing.T, page string) (said string, count int) {
	t.Helper()
	text := read(t, page)
	bin := filepath.Join(b.home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(bin, "phonebooth")); err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	for i, block := range blocks {
		if words := strings.Fields(block[1]); i == 0 && words[0] == "phonebooth" && words[1] == "dev" {
			b.start(t, append(words[1:], "--listen", freeAddress(t), "--adb", "off")...).expect(t, planeReady)
			continue
		}
		script += block[1]
	}
	sh := exec.Command("sh", "-x")
	sh.Dir, sh.Stdin = b.home, strings.NewReader(script)
	for _, entry := range b.env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			entry = "PATH=" + bin + ":" + path
		}
		sh.Env = append(sh.Env, entry)
	}
	all, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%s fails: %v\n%s", page, err, all)
	}
	return string(all), len(blocks)
}
