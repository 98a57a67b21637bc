package adb_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
)

func TestTheRealClientWorksThroughAGate(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	long := strings.Repeat("a line of some length\n", 20_000)
	for _, c := range []struct {
		stdin string
		args  []string
		want  ran
	}{
		{"", []string{"shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"", "shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"-d", "shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"-e", "shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"-t", "1", "shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"-s", b.serial, "shell", "getprop", "ro.serialno"}, ran{out: "PHONE1\n"}},
		{"", []string{"shell", "echo out; echo err >&2; exit 9"}, ran{"out\n", "err\n", 9}},
		{"", []string{"shell", "-x", "echo out; exit 9"}, ran{out: "out\n"}},
		{"", []string{"exec-out", "echo", "raw"}, ran{out: "raw\n"}},
		{long, []string{"shell", "cat"}, ran{out: long}},
		{"echo a\nexit 3\n", []string{"shell"}, ran{out: "a\n", code: 3}},
		{"", []string{"get-state"}, ran{out: "device\n"}},
		{"", []string{"", "get-serialno"}, ran{out: b.serial + "\n"}},
		{"", []string{"-d", "get-state"}, ran{out: "device\n"}},
		{"", []string{"devices"}, ran{out: "List of devices attached\n" + b.serial + "\tdevice\n\n"}},
		{"", []string{"wait-for-device"}, ran{}},
		{"", []string{"-d", "wait-for-usb-device"}, ran{}},
	} {
		if got := b.run(t, c.stdin, c.args...); got != c.want {
			t.Errorf("adb %q = %.300v, want %.300v", c.args, got, c.want)
		}
	}
	direct, err := b.srv.Client.Query(t.Context(), "host:devices-l")
	if got := b.run(t, "", "devices", "-l"); err != nil || got.out != "List of devices attached\n"+direct+"\n" {
		t.Errorf("adb devices -l = %q, %v, want the server's own line %q", got.out, err, direct)
	}
	for _, args := range [][]string{{"features"}, {"host-features"}} {
		server := &booth{srv: b.srv, env: []string{"ANDROID_SERIAL=" + b.serial}}
		if got, want := b.run(t, "", args...), server.run(t, "", args...); got != want || got.code != 0 {
			t.Errorf("adb %q = %+v through the gate, and directly %+v", args, got, want)
		}
	}
}

func TestTheRealClientMovesFilesThroughAGate(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 50_000)
	here, back := filepath.Join(t.TempDir(), "a.apk"), filepath.Join(t.TempDir(), "back")
	if err := os.WriteFile(here, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"push", here, "/sdcard/a"}, {"pull", "/sdcard/a", back}, {"install", here}} {
		if got := b.run(t, "", args...); got.code != 0 {
			t.Fatalf("adb %q = %+v, want it done", args, got)
		}
	}
	pulled, err := os.ReadFile(back)
	if err != nil || !bytes.Equal(pulled, content) {
		t.Errorf("%d bytes came back, %v, want the %d that were pushed", len(pulled), err, len(content))
	}
	installed := func(how string) {
		t.Helper()
		if got, _ := b.phone.File("/data/app/base.apk"); !bytes.Equal(got, content) {
			t.Errorf("%d bytes were installed %s, want %d", len(got), how, len(content))
		}
	}
	installed("as a stream")
	b.phone.SetFile("/data/app/base.apk", nil)
	if got := b.run(t, "", "install", "--no-streaming", here); got.code != 0 {
		t.Errorf("adb install --no-streaming = %+v", got)
	}
	installed("from a file")
}

func TestTwoClientsOfOneGateDoNotMix(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 50_000)
			got := b.run(t, text, "shell", fmt.Sprintf("cat; sleep 0.05; echo %d >&2; exit %d", i, i))
			if want := (ran{text, fmt.Sprintln(i), i}); got != want {
				t.Errorf("client %d has %.50v, want its own", i, got)
			}
		})
	}
	all.Wait()
}

func TestC33_AGateKnowsItsOwnPhoneOnly(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	b := newBridge(t, srv)
	two := booths(t, srv, b, bridgetest.Watch(t, b), bridge.Lease{}, "PHONE1", "PHONE2")
	for i, own := range two {
		name, other := fmt.Sprint("PHONE", i+1), two[1-i]
		if got := own.run(t, "", "shell", "getprop", "ro.serialno"); got.out != name+"\n" {
			t.Errorf("%s: getprop = %+v", name, got)
		}
		if got := own.run(t, "", "", "devices"); strings.Count(got.out, "\tdevice\n") != 1 || !strings.Contains(got.out, own.serial) {
			t.Errorf("%s: adb devices = %q, want one line", name, got.out)
		}
		before := len(other.phone.Commands())
		for _, args := range [][]string{
			{"-s", other.serial, "shell", "true"},
			{"-s", other.serial, "forward", "tcp:0", "tcp:1"},
			{"-s", other.serial, "get-state"},
			{"-s", other.serial, "reverse", "tcp:1", "tcp:1"},
			{"-s", other.serial, "wait-for-device"},
			{"-t", fmt.Sprint(2 - i), "shell", "true"},
			{"connect", other.serial},
			{"disconnect"},
			{"disconnect", other.serial},
			{"reconnect"},
			{"reconnect", "offline"},
			{"tcpip", "5555"},
			{"usb"},
		} {
			if got := own.run(t, "", args...); got.code == 0 || got.err+got.out == "" {
				t.Errorf("%s: adb %q = %+v, want it refused with a reason", name, args, got)
			}
		}
		own.run(t, "", "kill-server") // which says nothing of how it went, as the next
		own.run(t, "", "reconnect", "device")
		for _, request := range [][]string{
			{"host:kill"},
			{"host:pair:1:x"},
			{"host:emulator:5554"},
			{"host:mdns:check"},
			{"host-serial:" + other.serial + ":features"},
			{"host:transport-any", "reconnect"},
			{"shell:true"},
		} {
			if got, _ := own.ask(t, request...); !strings.HasPrefix(got, "FAIL ") || len(got) < len("FAIL ")+8 {
				t.Errorf("%s: %q = %q, want FAIL and why", name, request, got)
			}
		}
		if got := len(other.phone.Commands()); got != before {
			t.Errorf("%d commands reached the other phone", got-before)
		}
	}
	for i, own := range two { // all of it changed nothing
		if got := own.run(t, "", "shell", "getprop", "ro.serialno"); got.out != fmt.Sprintf("PHONE%d\n", i+1) {
			t.Errorf("after all, getprop = %+v", got)
		}
		if err := own.access.Probe(t.Context()); err != nil {
			t.Errorf("after all, Probe = %v", err)
		}
	}
	if listed, err := srv.Client.Devices(t.Context()); err != nil || len(listed) != 2 {
		t.Errorf("the server lists %+v, %v, want both", listed, err)
	}
}

func TestCommandsThatPassedAreOneLineEach(t *testing.T) {
	t.Parallel()
	log := &pages{}
	b := oneBooth(t, bridge.Lease{Log: log})
	b.run(t, "", "shell", "echo 1;\necho 2")
	b.run(t, "", "exec-out", "echo", "3")
	b.run(t, "", "-s", "other", "shell", "echo", "4")
	b.run(t, "", "get-state")
	b.run(t, "", "push", os.Args[0]+".none", "/sdcard")
	want := []string{"shell echo 1; echo 2\n", "exec echo '3'\n"}
	log.mu.Lock()
	defer log.mu.Unlock()
	if fmt.Sprint(log.lines) != fmt.Sprint(want) {
		t.Errorf("log = %q, want %q", log.lines, want)
	}
}
