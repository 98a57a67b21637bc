package simdevice

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func (p *Phone) runs(name string) bool {
	return slices.ContainsFunc(p.Processes(), func(running Process) bool { return running.Name == name })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come so far", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWhatRunsInTheBackgroundGoesOnUntilItIsKilled(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	life, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	sh := &shell{phone: p, background: func(run func(context.Context)) { running.Go(func() { run(life) }) }}
	if code := sh.begin(t.Context(), "nohup screenrecord /sdcard/a.mp4 >/dev/null 2>&1 </dev/null & setsid sleep 600 &"); code != 0 {
		t.Fatalf("exit code = %d, want 0 at once", code)
	}
	until(t, "both run", func() bool { return p.runs("screenrecord") && p.runs("sleep") })
	stuck := p.Spawn("stuck")
	for _, running := range p.Processes() {
		if running.Label == shellLabel {
			runLine(t.Context(), p, "kill -9 "+strconv.Itoa(running.PID), "")
		}
	}
	until(t, "both are dead", func() bool { return !p.runs("screenrecord") && !p.runs("sleep") })
	if _, ok := p.File("/sdcard/a.mp4"); !ok {
		t.Error("the recording was not written at its end")
	}
	if !p.runs("stuck") {
		t.Error("a process that no kill ends was killed")
	}
	p.Reap(stuck)
	if p.runs("stuck") {
		t.Error("it is there after Reap")
	}
	if got := runLine(t.Context(), p, "kill 312; kill 99999", ""); got.code == 0 {
		t.Errorf("killing adbd and nobody = %+v, want a failure", got)
	}
}

func TestAPhoneShowsHowItIs(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	p.SetVitals(Vitals{Battery: 12, Free: 0, Locked: true})
	for line, want := range map[string]string{
		"dumpsys battery": "  level: 12\n", "dumpsys power": "mWakefulness=Asleep", "dumpsys window policy": "    showing=true\n",
		"df -k /data": " 0 100% /data\n", "dumpsys battery;": "USB powered: false",
	} {
		if got := runLine(t.Context(), p, line, ""); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s = %+v, want %q in it", line, got, want)
		}
	}
	if got := runLine(t.Context(), p, "echo a > /sdcard/x", ""); got.code != 1 {
		t.Errorf("writing to a full phone = %+v, want a failure", got)
	}
}
