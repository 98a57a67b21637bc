package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

// reason waits until the device has a condition, and returns why.
func (h *house) reason(t *testing.T, name string, want phonebooth.Condition) (reason string) {
	t.Helper()
	h.until(t, name+" is "+string(want), func() bool {
		for _, d := range h.inventory.Devices {
			if d.Name == name && d.Condition == string(want) {
				reason = d.Reason
				return true
			}
		}
		return false
	})
	return reason
}

func hook(name, script string, drivers ...string) agent.Hook {
	return agent.Hook{Name: name, Argv: []string{"sh", "-c", script, "sh", "{serial}"}, Drivers: drivers}
}

func TestHooksOfTheHostRunOnTheDeviceAfterEachAttempt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wrote := filepath.Join(dir, "wrote")
	h := newHouse(t, 1, agent.Options{Cleanup: []agent.Hook{
		hook("tidy", "echo $1 $SIM_SERIAL $PHONEBOOTH_SERIAL $PHONEBOOTH_ATTEMPT >> "+wrote),
		hook("others", "echo no >> "+wrote, "android"),
		hook("ours", "echo ours >> "+wrote, "android", "sim"),
	}})
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
	eventually(t, "what the hooks wrote", func() bool {
		text, err := os.ReadFile(wrote)
		return err == nil && strings.HasSuffix(string(text), "ours\n")
	})
	text, err := os.ReadFile(wrote)
	if want := "sim-1 sim-1 sim-1 1\nours\n"; err != nil || string(text) != want {
		t.Errorf("the hooks wrote %q, %v, want %q", text, err, want)
	}
	h.condition(t, "sim-1", phonebooth.Ready)
	check(t, h.ended(t, h.goal("sim-1", "print y")), "done", "")
}

func TestC12_ADeviceWhoseHookFailsIsUnhealthyUntilItDoesNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, why string }{
		"fails":     {"echo broken; exit 3", "cleanup hook tidy ended with exit code 3"},
		"hangs":     {"trap '' TERM; sleep 600", "cleanup hook tidy did not end within 3s"},
		"is killed": {"kill -9 $$", "cleanup hook tidy was killed (signaled)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mended := filepath.Join(t.TempDir(), "mended")
			tidy := hook("tidy", "test -e "+mended+" || { "+c.script+"; }")
			tidy.Timeout = 3 * time.Second // which is enough for a shell on a busy machine
			if name != "hangs" {
				tidy.Timeout = 0
			}
			h := newHouse(t, 1, agent.Options{Cleanup: []agent.Hook{tidy}})
			check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "") // the result is not held back
			if got := h.reason(t, "sim-1", phonebooth.Unhealthy); !strings.HasPrefix(got, c.why) {
				t.Errorf("it is unhealthy because %q, want %q", got, c.why)
			}
			if err := os.WriteFile(mended, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			h.condition(t, "sim-1", phonebooth.Ready)
		})
	}
}

// A host that could not keep a lease has the device still, and puts it in order.
func TestHooksRunAlsoAfterAFence(t *testing.T) {
	t.Parallel()
	wrote := filepath.Join(t.TempDir(), "wrote")
	h := newHouse(t, 1, agent.Options{Cleanup: []agent.Hook{hook("tidy", "test -e $SIM_WAY && echo ran >> "+wrote)}})
	a := h.goal("sim-1", "print up; hang")
	h.logged(t, a, "up")
	h.do(func() { a.lost = "superseded" })
	eventually(t, "the hook, with a way to the device", func() bool {
		text, err := os.ReadFile(wrote)
		return err == nil && string(text) == "ran\n"
	})
	h.condition(t, "sim-1", phonebooth.Ready)
	check(t, h.ended(t, h.goal("sim-1", "print next")), "done", "")
}

func TestACleaningThatAStopBrokeOffIsDoneByTheNextLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began, mended := filepath.Join(dir, "began"), filepath.Join(dir, "mended")
	options := agent.Options{Cleanup: []agent.Hook{hook("tidy", "touch "+began+"; test -e "+mended+" || sleep 600")}}
	h := newHouse(t, 1, options)
	check(t, h.ended(t, h.goal("sim-1", "print x")), "done", "")
	eventually(t, "the hook", func() bool { _, err := os.Stat(began); return err == nil })
	if err := h.stop(); err != nil { // it does not wait for the hook
		t.Fatal(err)
	}
	if err := os.WriteFile(mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(began); err != nil {
		t.Fatal(err)
	}
	h.start(t, options)
	h.condition(t, "sim-1", phonebooth.Ready)
	if _, err := os.Stat(began); err != nil {
		t.Errorf("the next life said ready before the hook had run: %v", err)
	}
}

func (h *house) probed(name string) int64 {
	for _, d := range h.inventory.Devices {
		if d.Name == name {
			return d.Probed
		}
	}
	return 0
}

func TestC34_AQuarantinedDeviceThatPassesAProbeSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2, agent.Options{})
	h.do(func() { h.probe = map[string]int64{"sim:sim-1": 77} })
	h.until(t, "sim-1 has passed probe 77 and is ready", func() bool {
		return h.probed("sim-1") == 77 && conditionIn(h.inventory, "sim-1") == "ready"
	})
	h.do(func() {
		if got := h.probed("sim-2"); got != 0 {
			t.Errorf("sim-2 says that it has passed probe %d, and nobody asked", got)
		}
	})
}

func TestC34_AQuarantinedDeviceThatCannotBePutInOrderPassesNoProbe(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.bridge.FailClose("sim-1", 1)
	h.do(func() { h.probe = map[string]int64{"sim:sim-1": 78} })
	h.until(t, "sim-1 is unhealthy and has passed nothing", func() bool {
		return h.probed("sim-1") == 0 && conditionIn(h.inventory, "sim-1") == "unhealthy"
	})
	h.until(t, "sim-1 has passed once it is in order", func() bool {
		return h.probed("sim-1") == 78 && conditionIn(h.inventory, "sim-1") == "ready"
	})
}

func conditionIn(r v1.InventoryRequest, name string) string {
	for _, d := range r.Devices {
		if d.Name == name {
			return d.Condition
		}
	}
	return ""
}
