package adb_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

func TestRealServerListsAndRuns(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	c := srv.Client
	if v, err := c.Version(t.Context()); err != nil || v < 40 {
		t.Errorf("Version = %d, %v, want 40 or more", v, err)
	}
	if got, err := c.Devices(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("Devices with no phone = %+v, %v, want none", got, err)
	}
	phone := simdevice.New(simdevice.Options{Serial: "R58M", Model: "Pixel 9"})
	serial := srv.Connect(t, phone)
	d := srv.Await(t, serial, adb.StateDevice)
	want := adb.Device{TransportID: d.TransportID, Serial: serial, State: adb.StateDevice, Product: "pixel_9", Model: "Pixel_9", Name: "pixel_9"}
	if d != want || d.TransportID == 0 || !d.Network() {
		t.Errorf("listed as %+v, want %+v with a transport id", d, want)
	}
	properties, err := c.Properties(t.Context(), d)
	if err != nil || properties["ro.serialno"] != "R58M" || properties["ro.product.model"] != "Pixel 9" {
		t.Errorf("Properties = %v, %v, want its serial number and model", properties, err)
	}
	long := strings.Repeat("0123456789", 30_000)
	for _, x := range []struct {
		command string
		want    adb.Output
	}{
		{"echo out; echo err >&2; exit 7", adb.Output{Stdout: "out\n", Stderr: "err\n", ExitCode: 7}},
		{"true", adb.Output{}},
		{"cat", adb.Output{}},
		{"nonsense", adb.Output{Stderr: "/system/bin/sh: nonsense: inaccessible or not found\n", ExitCode: 127}},
		{"settings put system x " + long[:9_000] + " && settings get system x", adb.Output{Stdout: long[:9_000] + "\n"}},
	} {
		got, err := c.Shell(t.Context(), d, x.command)
		if err != nil || got != x.want {
			t.Errorf("Shell(%.60q) = %.200v, %v, want %.200v", x.command, got, err, x.want)
		}
	}
	_, err = c.Shell(t.Context(), adb.Device{TransportID: d.TransportID + 99}, "true")
	var refusal *adb.Refusal
	if !errors.As(err, &refusal) {
		t.Errorf("Shell on a transport that is not there = %v, want the server's refusal", err)
	}
}

func TestRealServerShellOnAPhoneBeforeExitCodes(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	serial := srv.Connect(t, simdevice.New(simdevice.Options{Features: []string{"cmd"}}))
	d := srv.Await(t, serial, adb.StateDevice)
	got, err := srv.Client.Shell(t.Context(), d, "echo out; echo err >&2; exit 7")
	if want := (adb.Output{Stdout: "out\nerr\n", ExitCode: 7}); err != nil || got != want {
		t.Errorf("Shell = %+v, %v, want %+v", got, err, want)
	}
}

func TestC28_TwoPhonesWithOneSerialEachRunTheirOwn(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	const twin = "0123456789ABCDEF"
	var sightings []adb.Sighting
	phones := []*simdevice.Phone{simdevice.New(simdevice.Options{Serial: twin}), simdevice.New(simdevice.Options{Serial: twin})}
	for i, phone := range phones {
		d := srv.Await(t, srv.Connect(t, phone), adb.StateDevice)
		properties, err := srv.Client.Properties(t.Context(), d)
		if err != nil {
			t.Fatalf("Properties: %v", err)
		}
		sightings = append(sightings, adb.Sighting{Device: d, Properties: properties})
		if _, err := srv.Client.Shell(t.Context(), d, fmt.Sprintf("input tap %d", i)); err != nil {
			t.Fatalf("Shell: %v", err)
		}
	}
	for i, phone := range phones {
		want := fmt.Sprintf("input tap %d", i)
		for _, c := range phone.Commands() {
			if strings.HasPrefix(c.Line, "input") && c.Line != want {
				t.Errorf("phone %d ran %q, want %q only", i, c.Line, want)
			}
		}
	}
	ids := adb.Identify(sightings, nil)
	if len(ids) != 2 || ids[0].Ambiguous || ids[1].Ambiguous || ids[0].Key == ids[1].Key {
		t.Errorf("Identify = %+v, want two candidates", ids)
	}
}

func TestC31_RealServerShowsFaultsAsTheyAre(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{})
	serial := srv.Connect(t, phone)

	phone.Unauthorized()
	d := srv.Await(t, serial, adb.StateUnauthorized)
	if out, err := srv.Client.Shell(t.Context(), d, "true"); err == nil {
		t.Errorf("Shell on an unauthorized phone = %+v, want an error", out)
	}
	phone.Recover()
	srv.Await(t, serial, adb.StateDevice)
	phone.Offline()
	srv.Await(t, serial, adb.StateOffline)
	phone.Recover()
	srv.Await(t, serial, adb.StateDevice)

	phone.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	d = srv.Await(t, serial, adb.StateDevice)
	if out, err := srv.Client.Shell(ctx, d, "true"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shell on a hanging phone = %+v, %v, want the deadline", out, err)
	}
	phone.Recover()
	if out, err := srv.Client.Shell(t.Context(), d, "exit 4"); err != nil || out.ExitCode != 4 {
		t.Errorf("Shell after the hang = %+v, %v, want exit code 4", out, err)
	}
}

// lists collects what Track reports.
type lists struct {
	mu   sync.Mutex
	last []adb.Device
	some bool
}

func (l *lists) set(devices []adb.Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.some = devices, true
}

func (l *lists) await(t *testing.T, what string, ok func([]adb.Device) bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		l.mu.Lock()
		done, last := l.some && ok(l.last), l.last
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: not so after 30s, the last list is %+v", what, last)
		case <-tick.C:
		}
	}
}

func TestTrackOutlivesTheServer(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var got lists
	ended := make(chan error, 1)
	go func() { ended <- srv.Client.Track(ctx, got.set) }()
	none := func(d []adb.Device) bool { return len(d) == 0 }
	ready := func(d []adb.Device) bool { return len(d) == 1 && d[0].State.Ready() }
	got.await(t, "no phone at first", none)
	serial := srv.Connect(t, phone)
	got.await(t, "the phone is ready", ready)
	srv.Kill()
	got.await(t, "no phone without a server", none)
	srv.Restart(t)
	srv.Attach(t, serial)
	got.await(t, "the phone is back", ready)
	srv.Detach(t, serial)
	got.await(t, "the phone was taken off", none)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Track = %v, want its context's end", err)
	}
}

func TestAServerIsStartedOnlyWhereNoneAnswers(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	// With a server there the program is not even looked for.
	there := adb.New(srv.Client.Address(), adb.Options{Binary: "/nowhere/adb"})
	if err := there.StartServer(t.Context()); err != nil {
		t.Errorf("StartServer where one answers = %v, want nothing done", err)
	}
	srv.Kill()
	err := there.StartServer(t.Context())
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("StartServer without the program = %v, want that it does not exist", err)
	}
	c := adb.New(srv.Client.Address(), adb.Options{Environ: srv.Env(), StartMissing: true})
	t.Cleanup(func() { endServer(t, c) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got lists
	ended := make(chan error, 1)
	go func() { ended <- c.Track(ctx, got.set) }()
	serial := adbtest.Serve(t, simdevice.New(simdevice.Options{}))
	got.await(t, "an empty list", func(d []adb.Device) bool { return len(d) == 0 })
	awaitVersion(t, c)
	srv.Attach(t, serial)
	got.await(t, "the phone", func(d []adb.Device) bool {
		return slices.ContainsFunc(d, func(d adb.Device) bool { return d.Serial == serial })
	})
	cancel()
	<-ended
	far, err := adb.ResolveAddress("192.0.2.1:5037", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := adb.New(far, adb.Options{CallTimeout: 100 * time.Millisecond}).StartServer(t.Context()); err == nil {
		t.Error("StartServer on another machine succeeded, want an error")
	}
}

func awaitVersion(t *testing.T, c *adb.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := c.Version(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for the adb server: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// endServer ends a server that is no child of the test.
func endServer(t *testing.T, c *adb.Client) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Address().String(), "tcp:"))
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("0009host:kill")); err != nil {
		t.Errorf("ending the adb server: %v", err)
	}
	_, _ = conn.Read(make([]byte, 4))
}
