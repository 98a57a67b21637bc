package adb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
	"github.com/phonebooth-dev/phonebooth/runner/runnertest"
)

func newBridge(t testing.TB, srv *adbtest.Server) *adb.Bridge {
	t.Helper()
	b, err := adb.New(adb.Options{Server: srv.Addr(), NoStart: true, Adb: wire.Options{PollEvery: 500 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// closes closes an access when t and all its subtests have ended.
func closes(t testing.TB, access bridge.Access) {
	t.Cleanup(func() {
		if err := access.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("closing an access: %v", err)
		}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	type attached struct {
		srv    *adbtest.Server
		serial string
	}
	var all sync.Map
	of := func(b bridge.Bridge) attached {
		a, _ := all.Load(b)
		return a.(attached)
	}
	bridgetest.Run(t, bridgetest.Harness{
		New: func(t *testing.T) bridge.Bridge {
			srv := adbtest.NewServer(t)
			serial := srv.Connect(t, simdevice.New(simdevice.Options{}))
			b := newBridge(t, srv)
			all.Store(b, attached{srv, serial})
			return b
		},
		Lose: func(t *testing.T, b bridge.Bridge, _ string) { of(b).srv.Detach(t, of(b).serial) },
		Back: func(t *testing.T, b bridge.Bridge, _ string) { of(b).srv.Attach(t, of(b).serial) },
	})
}

func TestC31_StatesAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{Serial: "PHONE1"})
	b := newBridge(t, srv)
	w := bridgetest.Watch(t, b)
	serial := srv.Connect(t, phone)
	shows := func(want phonebooth.Condition) {
		t.Helper()
		w.Until(t, "PHONE1 is "+string(want), func(list []bridge.Device) bool {
			d := bridgetest.Find(list, "PHONE1")
			return d != nil && d.Condition == want
		})
	}
	shows(phonebooth.Ready)
	phone.Unauthorized()
	srv.Detach(t, serial)
	srv.Attach(t, serial)
	w.Until(t, "the unauthorized phone, which has not said its name", func(list []bridge.Device) bool {
		d := bridgetest.Find(list, serial)
		return d != nil && d.Condition == "unauthorized"
	})
	if _, err := b.Open(t.Context(), serial, bridge.Lease{}); err == nil {
		t.Error("an unauthorized phone was opened, want ErrGone")
	}
	phone.Recover()
	phone.SetProperty("sys.boot_completed", "0")
	srv.Detach(t, serial)
	srv.Attach(t, serial)
	shows("booting")
	phone.SetProperty("sys.boot_completed", "1")
	shows(phonebooth.Ready)
}

func TestC28_EachOfTwoPhonesWithOneSerialNumberGetsItsOwnTasks(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	b := newBridge(t, srv)
	w := bridgetest.Watch(t, b)
	phones := map[string]*simdevice.Phone{} // by serial
	for range 2 {
		phone := simdevice.New(simdevice.Options{Serial: "0123456789ABCDEF"})
		phones[srv.Connect(t, phone)] = phone
	}
	list := w.Until(t, "two ready devices", func(list []bridge.Device) bool {
		return len(list) == 2 && list[0].Condition == phonebooth.Ready && list[1].Condition == phonebooth.Ready
	})
	t.Cleanup(func() { // the programs have ended
		for serial, phone := range phones {
			ran := 0
			for _, c := range phone.Commands() {
				if strings.Contains(c.Line, "input tap") {
					ran++
					if !strings.Contains(c.Line, serial) {
						t.Errorf("the phone at %s ran %q", serial, c.Line)
					}
				}
			}
			if ran != 1 {
				t.Errorf("the phone at %s ran %d tasks, want its own", serial, ran)
			}
		}
	})
	for _, d := range list {
		access, err := b.Open(t.Context(), d.Key, bridge.Lease{})
		if err != nil {
			t.Fatal(err)
		}
		closes(t, access)
		runnertest.Run(t, runnertest.Harness{
			Registration: adbShell(t), Env: access.Env(),
			Really: map[string]phonebooth.Outcome{"input tap " + d.Name: phonebooth.OutcomeDone},
		})
	}
}

// A real server without USB cannot show a phone on USB and on the network; package internal/adb merges those in its tests.
func TestC29_APhoneThatIsAttachedTwiceIsNeverTwoCandidates(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	b := newBridge(t, srv)
	w := bridgetest.Watch(t, b)
	phone := simdevice.New(simdevice.Options{Serial: "PHONE1"})
	first, second := srv.Connect(t, phone), adbtest.Serve(t, phone)
	w.Until(t, "the phone", func(list []bridge.Device) bool { return len(list) == 1 && list[0].Condition == phonebooth.Ready })
	srv.Attach(t, second)
	list := w.Until(t, "two devices that may be one", func(list []bridge.Device) bool {
		if len(list) == 2 && list[0].Condition == phonebooth.Ready && list[1].Condition == phonebooth.Ready {
			t.Errorf("both are ready: %+v", list)
		}
		return len(list) == 2 && list[0].Condition == phonebooth.Ambiguous && list[1].Condition == phonebooth.Ambiguous
	})
	for _, d := range list {
		if _, err := b.Open(t.Context(), d.Key, bridge.Lease{}); !errors.Is(err, bridge.ErrGone) {
			t.Errorf("opening %s: %v, want ErrGone", d.Key, err)
		}
	}
	srv.Detach(t, first)
	w.Until(t, "the one device again", func(list []bridge.Device) bool { return len(list) == 1 && list[0].Condition == phonebooth.Ready })
}

func TestTagsSayWhatADeviceIs(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	w := bridgetest.Watch(t, newBridge(t, srv))
	srv.Connect(t, simdevice.New(simdevice.Options{Serial: "PHONE1", Model: "Pixel 9", SDK: 35}))
	srv.Connect(t, simdevice.New(simdevice.Options{Serial: "PHONE2", Properties: map[string]string{"ro.kernel.qemu": "1"}}))
	list := w.Until(t, "two ready devices", func(list []bridge.Device) bool {
		return len(list) == 2 && list[0].Condition == phonebooth.Ready && list[1].Condition == phonebooth.Ready
	})
	for _, d := range list {
		emulator := !hasTag(d, "model:Pixel_9")
		for _, tag := range []string{"android", "api:35", "abi:arm64-v8a"} {
			if !hasTag(d, tag) {
				t.Errorf("%s has tags %q, want %s among them", d.Key, d.Tags, tag)
			}
		}
		if hasTag(d, "emulator") != emulator || d.DriverType != "android" {
			t.Errorf("device = %+v, want emulator = %v", d, emulator)
		}
	}
}

func hasTag(d bridge.Device, tag string) bool {
	return phonebooth.Constraints{Tags: []string{tag}}.Match(phonebooth.Device{Tags: d.Tags}) == phonebooth.Matches
}

func TestTheAdbShellPresetDrivesTheLeasedDevice(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	b := newBridge(t, srv)
	w := bridgetest.Watch(t, b)
	srv.Connect(t, simdevice.New(simdevice.Options{Serial: "PHONE1", Model: "One"}))
	srv.Connect(t, simdevice.New(simdevice.Options{Serial: "PHONE2", Model: "Two"}))
	w.Until(t, "two ready devices", func(list []bridge.Device) bool {
		return len(list) == 2 && list[0].Condition == phonebooth.Ready && list[1].Condition == phonebooth.Ready
	})
	access, err := b.Open(t.Context(), "PHONE2", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, access)
	runnertest.Run(t, runnertest.Harness{
		Registration: adbShell(t), Env: access.Env(),
		Really: map[string]phonebooth.Outcome{
			"getprop ro.product.model": phonebooth.OutcomeDone,
			"exit 3":                   phonebooth.OutcomeFailed,
			"exit 75":                  phonebooth.OutcomeFailed, // a command's exit code follows no contract
			"-x":                       phonebooth.OutcomeFailed, // a command that is not there, and no option of adb
			"echo 'two\nlines'; true":  phonebooth.OutcomeDone,
		},
	})
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, settings := range []bridge.Settings{{"server": "nonsense"}, {"start": "maybe"}, {"port": "5037"}} {
		if _, err := adb.Open(settings); err == nil {
			t.Errorf("Open(%v): no error, want one", settings)
		}
	}
}

func TestACommandWhoseDeviceDropsOffIsNoSuccess(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{Serial: "PHONE1"})
	b := newBridge(t, srv)
	w := bridgetest.Watch(t, b)
	srv.Connect(t, phone)
	ready := func(list []bridge.Device) bool {
		d := bridgetest.Find(list, "PHONE1")
		return d != nil && d.Condition == phonebooth.Ready
	}
	w.Until(t, "the phone", ready)
	access, err := b.Open(t.Context(), "PHONE1", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, access)
	go func() {
		for len(phone.Commands()) == 0 || phone.Commands()[len(phone.Commands())-1].Line != "sleep 20" {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		phone.Drop()
	}()
	runnertest.Run(t, runnertest.Harness{
		Registration: adbShell(t), Env: access.Env(),
		Really: map[string]phonebooth.Outcome{"sleep 20": phonebooth.OutcomeAbandoned},
	})
	t.Cleanup(func() {
		w.Until(t, "the phone's return", ready)
		if err := access.Probe(context.WithoutCancel(t.Context())); !errors.Is(err, bridge.ErrGone) {
			t.Errorf("probing after the drop: %v, want ErrGone also when the transport is back", err)
		}
	})
}

// adbShell is the preset that ships.
func adbShell(t *testing.T) runner.Registration {
	t.Helper()
	g, err := preset.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return g[0]
}
