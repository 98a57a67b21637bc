//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/bridge"
)

// verdicts are the doctor's, by subject; of several findings of one subject the worst.
func verdicts(t *testing.T, o outcome) map[string]bridge.Finding {
	t.Helper()
	found := map[string]bridge.Finding{}
	for _, f := range one[[]bridge.Finding](t, o.stdout) {
		if found[f.Subject].Verdict != bridge.Ill {
			found[f.Subject] = f
		}
	}
	return found
}

func TestDoctorFindsAHostWithPhonesHealthyAndSaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	r := newBooth(t).rack(t, 2)
	p := r.server(t)
	h := p.agent(t, "rack-1", 0, "--adb", "auto")
	r.attach(t)
	p.waitDevices(t, 2)
	ask := []string{"doctor", "--data", h.data, "-o", "json"}

	o := r.try(t, ask...)
	found := verdicts(t, o)
	if o.code != 0 {
		t.Errorf("the doctor of a healthy host exits %d: %s", o.code, o.stdout)
	}
	for _, subject := range []string{"agent", "disk", "control plane", "token", "adb program", "adb server", "device " + r.serials[0], "device " + r.serials[1], "runner adb-shell"} {
		if f := found[subject]; f.Verdict != bridge.Well {
			t.Errorf("of a healthy host %s is %q: %s", subject, f.Verdict, f.Message)
		}
	}

	// No adb: neither the program nor, when it is gone, the server.
	empty := r.path("empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	r.user = append(r.user, "PATH="+empty)
	o = r.try(t, ask...)
	found = verdicts(t, o)
	if f := found["adb program"]; o.code != 1 || f.Verdict != bridge.Ill || !strings.Contains(f.Advice, "apt install adb") {
		t.Errorf("without adb the doctor exits %d and says %+v", o.code, f)
	}
	if f := found["runner adb-shell"]; f.Verdict != bridge.Idle || !strings.Contains(f.Message, "adb not in PATH") {
		t.Errorf("without adb its runner is %+v", f)
	}
	r.user = r.user[:len(r.user)-1]

	// A token of another control plane.
	other := r.path("other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	identity := `{"host_id":"` + h.id + `","name":"rack-1","secret":"` + strings.Repeat("x", 40) + `"}`
	if err := os.WriteFile(filepath.Join(other, "identity.json"), []byte(identity), 0o600); err != nil {
		t.Fatal(err)
	}
	o = r.try(t, "doctor", "--data", other, "-o", "json")
	if f := verdicts(t, o)["token"]; o.code != 1 || f.Verdict != bridge.Ill || !strings.Contains(f.Message, "does not know this host's token") {
		t.Errorf("with a wrong token the doctor exits %d and says %+v", o.code, f)
	}

	// A disk without room.
	full := r.path("full")
	smallDisk(t, full, "1m")
	if err := os.WriteFile(filepath.Join(full, "identity.json"), []byte(identity), 0o600); err != nil {
		t.Fatal(err)
	}
	o = r.try(t, "doctor", "--data", full, "-o", "json")
	if f := verdicts(t, o)["disk"]; o.code != 1 || f.Verdict != bridge.Ill || !strings.Contains(f.Message, "no room") {
		t.Errorf("with a full disk the doctor exits %d and says %+v", o.code, f)
	}
}
