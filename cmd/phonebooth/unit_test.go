//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command lines of the systemd units are of this program: its verbs and its flags.
func TestSystemdUnitsCallThisProgramAsItIs(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("../../packaging/systemd/*.service")
	if err != nil || len(units) != 3 {
		t.Fatalf("units = %q, %v; want three", units, err)
	}
	ours := 0
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			call, found := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=/usr/bin/phonebooth ")
			if !found {
				continue
			}
			ours++
			// Flags that are unknown are refused before --help is answered.
			if said, err := exec.Command(binary, append(strings.Fields(call), "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: phonebooth %s: %v\n%s", unit, call, err, said)
			}
		}
	}
	if ours != 2 {
		t.Errorf("%d units start phonebooth, want the agent's and the server's", ours)
	}
}
