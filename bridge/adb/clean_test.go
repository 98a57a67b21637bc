package adb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// started lists what was started on the phone through adb and is no shell.
func started(phone *simdevice.Phone) (names []string) {
	for _, p := range phone.Processes() {
		if p.Label == "u:r:shell:s0" && p.Name != "sh" {
			names = append(names, p.Name)
		}
	}
	return names
}

// openPhone is a phone of a bridge, opened as often as asked.
type openPhone struct {
	bridge *adb.Bridge
	srv    *adbtest.Server
	phone  *simdevice.Phone
	serial string
	watch  *bridgetest.Watched
}

func newPhone(t *testing.T) *openPhone {
	t.Helper()
	srv := adbtest.NewServer(t)
	o := &openPhone{bridge: newBridge(t, srv), srv: srv, phone: simdevice.New(simdevice.Options{Serial: "PHONE1"})}
	o.watch = bridgetest.Watch(t, o.bridge)
	o.serial = srv.Connect(t, o.phone)
	o.ready(t)
	return o
}

func (o *openPhone) ready(t *testing.T) bridge.Device {
	t.Helper()
	isReady := func(list []bridge.Device) bool {
		d := bridgetest.Find(list, "PHONE1")
		return d != nil && d.Condition == phonebooth.Ready
	}
	return *bridgetest.Find(o.watch.Until(t, "PHONE1 ready", isReady), "PHONE1")
}

func (o *openPhone) open(t *testing.T) *booth {
	t.Helper()
	access, err := o.bridge.Open(t.Context(), "PHONE1", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	return &booth{srv: o.srv, phone: o.phone, serial: o.serial, access: access, env: access.Env()}
}

func TestWhatAnAttemptLeftOnItsDeviceIsGone(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	b := o.open(t)
	for _, line := range []string{
		"nohup screenrecord /sdcard/a.mp4 >/dev/null 2>&1 &", "setsid logcat </dev/null >/dev/null 2>&1 &", "(sleep 600; sleep 600) &",
		"ime enable com.evil/.Keyboard; ime set com.evil/.Keyboard", "am instrument -w -e class A com.app.test/androidx.test.Runner; true", // which may have failed
	} {
		if got := b.run(t, "", "shell", line); got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	if got := started(o.phone); len(got) != 3 {
		t.Fatalf("before the end of the lease there run %q, want three", got)
	}
	if err := b.access.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := started(o.phone); len(got) != 0 {
		t.Errorf("after the lease there run %q, want nothing", got)
	}
	if got := o.phone.Keyboard(); strings.HasPrefix(got, "com.evil") {
		t.Errorf("the keyboard is %s, want the one before the lease", got)
	}
	for _, want := range []string{"am force-stop com.app.test", "input keyevent 3"} {
		if !slices.ContainsFunc(o.phone.Commands(), func(c simdevice.Command) bool { return c.Line == want }) {
			t.Errorf("the phone was not told: %s", want)
		}
	}
	for _, file := range []string{"/data/local/tmp/phonebooth-lease", "/data/local/tmp/phonebooth-probe"} {
		if _, there := o.phone.File(file); there {
			t.Errorf("%s was left on the phone", file)
		}
	}
}

func TestWhatRanBeforeTheLeaseRunsAfterIt(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	if _, err := o.srv.Client.Shell(t.Context(), o.srv.Await(t, o.serial, "device"), "setsid logcat >/dev/null &"); err != nil {
		t.Fatal(err)
	}
	if err := o.open(t).access.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := started(o.phone); !slices.Equal(got, []string{"logcat"}) {
		t.Errorf("after the lease there run %q, want what ran before it", got)
	}
}

func TestC12_APhoneThatCannotBePutInOrderIsSaidToBeSoUntilItCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breakIt func(*simdevice.Phone) (mend func())
		why     string
	}{
		"a process that no kill ends": {func(p *simdevice.Phone) func() {
			pid := p.Spawn("stuck_codec")
			return func() { p.Reap(pid) }
		}, "stuck_codec (process "},
		"no room": {func(p *simdevice.Phone) func() {
			well := p.Vitals()
			p.SetVitals(simdevice.Vitals{Battery: 50})
			return func() { p.SetVitals(well) }
		}, "nothing can be written to /data"},
		"a reboot that does not end": {func(p *simdevice.Phone) func() {
			p.SetProperty("sys.boot_completed", "0")
			return func() { p.SetProperty("sys.boot_completed", "1") }
		}, "it has not finished booting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newPhone(t)
			b := o.open(t)
			mend := c.breakIt(o.phone)
			err := b.access.Close(t.Context())
			if unfit, ok := errors.AsType[bridge.Unfit](err); !ok || !strings.HasPrefix(string(unfit), c.why) {
				t.Errorf("closing: %v, want %q", err, c.why)
			}
			mend()
			if err := b.access.Close(t.Context()); err != nil {
				t.Errorf("closing again when it is mended: %v", err)
			}
		})
	}
}

func TestC12_APhoneWhoseShellHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	b := o.open(t)
	o.phone.Hang()
	began := time.Now()
	err := b.access.Close(t.Context())
	if unfit, ok := errors.AsType[bridge.Unfit](err); !ok || unfit != "its shell does not answer" || time.Since(began) > 20*time.Second {
		t.Errorf("closing: %v after %v, want that its shell does not answer, within a bounded time", err, time.Since(began))
	}
	o.phone.Recover()
	if err := b.access.Close(t.Context()); err != nil {
		t.Errorf("closing again when it answers: %v", err)
	}
}

func TestALeaseThatNobodyCleanedUpAfterIsCleanedUpAfterBeforeTheNext(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	b := o.open(t)
	if got := b.run(t, "", "shell", "setsid screenrecord /sdcard/a.mp4 & ime set com.evil/.Keyboard"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	before := b.access
	before.Cut() // and the agent dies
	// Another agent, perhaps on another host, that knows nothing of it.
	other := newBridge(t, o.srv)
	w := bridgetest.Watch(t, other)
	w.Until(t, "the phone", func(list []bridge.Device) bool {
		d := bridgetest.Find(list, "PHONE1")
		return d != nil && d.Condition == phonebooth.Ready
	})
	access, err := other.Open(t.Context(), "PHONE1", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, access)
	if got := started(o.phone); len(got) != 0 || strings.HasPrefix(o.phone.Keyboard(), "com.evil") {
		t.Errorf("the next lease begins with %q and keyboard %s, want nothing of the last one", got, o.phone.Keyboard())
	}
	// What it instrumented, the dead one alone knew; an app's process is nobody's that adb started.
	own, _, _ := strings.Cut(simdevice.TestComponent, "/")
	if !slices.ContainsFunc(o.phone.Commands(), func(c simdevice.Command) bool { return c.Line == "am force-stop "+own }) {
		t.Errorf("the phone was not told: am force-stop %s", own)
	}
	if err := before.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("closing the dead one's access: %v", err)
	}
}

func TestACleanupWhoseTimeIsUpIsNone(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	b := o.open(t)
	if got := b.run(t, "", "shell", "setsid logcat >/dev/null &"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	b.access.Cut()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.access.Close(over); err == nil {
		t.Error("the access closed without a moment of time, want that it is not clean")
	}
	if err := b.access.Close(t.Context()); err != nil || len(started(o.phone)) != 0 {
		t.Errorf("closing again: %v with %q, want nothing left", err, started(o.phone))
	}
}

func TestADeviceShowsHowItIs(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	shows := func(want map[string]string) {
		t.Helper()
		o.watch.Until(t, "what the phone shows", func(list []bridge.Device) bool {
			d := bridgetest.Find(list, "PHONE1")
			if d == nil {
				return false
			}
			for name, value := range want {
				if d.Attributes[name] != value {
					return false
				}
			}
			return true
		})
	}
	shows(map[string]string{"battery": "85%", "charging": "yes", "free": "48 GB", "screen": "on", "locked": "no"})
	b := o.open(t)
	o.phone.SetVitals(simdevice.Vitals{Battery: 9, Free: 1 << 30, Locked: true})
	if err := b.access.Close(t.Context()); err != nil { // it is looked at again at once
		t.Fatal(err)
	}
	shows(map[string]string{"battery": "5%", "charging": "no", "free": "1 GB", "screen": "off", "locked": "yes"})
}
