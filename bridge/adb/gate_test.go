package adb_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// booth is a phone on a real adb server, and a lease of it.
type booth struct {
	srv    *adbtest.Server
	phone  *simdevice.Phone
	serial string // at the server
	access bridge.Access
	env    []string
}

// booths attaches phones with these serial numbers to one server and opens a lease of each.
func booths(t *testing.T, srv *adbtest.Server, b *adb.Bridge, w *bridgetest.Watched, lease bridge.Lease, names ...string) []*booth {
	t.Helper()
	var all []*booth
	for _, name := range names {
		phone := simdevice.New(simdevice.Options{Serial: name})
		all = append(all, &booth{srv: srv, phone: phone, serial: srv.Connect(t, phone)})
	}
	for i, name := range names {
		w.Until(t, name, func(list []bridge.Device) bool {
			d := bridgetest.Find(list, name)
			return d != nil && d.Condition == phonebooth.Ready
		})
		access, err := b.Open(t.Context(), name, lease)
		if err != nil {
			t.Fatal(err)
		}
		closes(t, access)
		all[i].access, all[i].env = access, access.Env()
	}
	return all
}

// oneBooth is a server with one phone, leased.
func oneBooth(t *testing.T, lease bridge.Lease) *booth {
	t.Helper()
	srv := adbtest.NewServer(t)
	b := newBridge(t, srv)
	return booths(t, srv, b, bridgetest.Watch(t, b), lease, "PHONE1")[0]
}

type ran struct {
	out, err string
	code     int
}

// command is the real adb program as a runner of the lease would start it.
func (b *booth) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adbtest.Binary(t), args...)
	cmd.Env = append(append(os.Environ(), b.srv.Env()...), b.env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs adb to its end. An argument of "" in front takes ANDROID_SERIAL away.
func (b *booth) run(t testing.TB, stdin string, args ...string) ran {
	t.Helper()
	bare := len(args) > 0 && args[0] == ""
	if bare {
		args = args[1:]
	}
	cmd := b.command(t, args...)
	if bare {
		cmd.Env = append(cmd.Env, "ANDROID_SERIAL=")
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("adb %q: %v", args, err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func (b *booth) dial(t *testing.T) net.Conn {
	t.Helper()
	address := ""
	for _, e := range b.env {
		if rest, ok := strings.CutPrefix(e, "ADB_SERVER_SOCKET=tcp:"); ok {
			address = rest
		}
	}
	return dial(t, address)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask sends requests on one connection and returns what the last was answered, "OKAY" or "FAIL ...".
func (b *booth) ask(t *testing.T, requests ...string) (answer string, conn net.Conn) {
	t.Helper()
	conn = b.dial(t)
	for _, r := range requests {
		if _, err := io.WriteString(conn, wire.Block(r)); err != nil {
			t.Fatal(err)
		}
		err := wire.ReadStatus(conn, r)
		if refusal, refused := errors.AsType[*wire.Refusal](err); refused {
			return "FAIL " + refusal.Message, conn
		}
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
	}
	return "OKAY", conn
}

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

func TestALogIsFollowedThroughAGateUntilItIsCut(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	b.phone.Log("one")
	cmd := b.command(t, "logcat")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"one", "two"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("logcat printed %q, want %q", lines.Text(), want)
		}
		b.phone.Log("two")
	}
	b.access.Cut()
	for lines.Scan() {
	}
	_ = cmd.Wait() // adb has its own mind about what a server that leaves means
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
			{"-s", other.serial, "shell", "true"}, {"-s", other.serial, "forward", "tcp:0", "tcp:1"}, {"-s", other.serial, "get-state"},
			{"-s", other.serial, "reverse", "tcp:1", "tcp:1"}, {"-s", other.serial, "wait-for-device"}, {"-t", fmt.Sprint(2 - i), "shell", "true"},
			{"connect", other.serial}, {"disconnect"}, {"disconnect", other.serial}, {"reconnect"}, {"reconnect", "offline"},
			{"tcpip", "5555"}, {"usb"},
		} {
			if got := own.run(t, "", args...); got.code == 0 || got.err+got.out == "" {
				t.Errorf("%s: adb %q = %+v, want it refused with a reason", name, args, got)
			}
		}
		own.run(t, "", "kill-server") // which says nothing of how it went, as the next
		own.run(t, "", "reconnect", "device")
		for _, request := range [][]string{
			{"host:kill"}, {"host:pair:1:x"}, {"host:emulator:5554"}, {"host:mdns:check"}, {"host-serial:" + other.serial + ":features"},
			{"host:transport-any", "reconnect"}, {"shell:true"},
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

// echo puts a program behind port 7000 of the phone that says everything back.
func (b *booth) echo() {
	b.phone.Listen("tcp:7000", func(conn io.ReadWriter) { _, _ = io.Copy(conn, conn) })
}

func saysBack(t *testing.T, conn io.ReadWriter, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text+"\n"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text)+1)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text+"\n" {
		t.Fatalf("read %q, %v, want %q", got, err, text)
	}
}

// ends checks that nothing but the end comes.
func ends(t *testing.T, what string, conn io.Reader) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: read %d bytes, %v, want the end", what, n, err)
	}
}

func TestC33_AnOpenForwardBreaksWhenTheGateIsCut(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	b.echo()
	port := strings.TrimSpace(b.run(t, "", "forward", "tcp:0", "tcp:7000").out)
	conn := dial(t, "127.0.0.1:"+port)
	saysBack(t, conn, "open")
	if list := b.run(t, "", "forward", "--list").out; list != b.serial+" tcp:"+port+" tcp:7000\n\n" {
		t.Errorf("adb forward --list = %q, want the one", list)
	}
	if list, err := b.srv.Client.Query(t.Context(), "host:list-forward"); err != nil || list != "" {
		t.Errorf("the real server lists %q, %v, want nothing", list, err)
	}
	_, shell := b.ask(t, "host:transport-any", "exec:cat")
	saysBack(t, shell, "open")
	b.access.Cut()
	ends(t, "the forward", conn)
	ends(t, "the shell", shell)
	if late, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
		late.Close()
		t.Error("the forward takes connections after the cut")
	}
	if got := b.run(t, "", "shell", "echo late"); got.code == 0 || strings.Contains(got.out, "late") {
		t.Errorf("after the cut adb shell = %+v, want that nothing is there", got)
	}
}

func TestACutIsQuick(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	br := newBridge(t, srv)
	b := booths(t, srv, br, bridgetest.Watch(t, br), bridge.Lease{}, "PHONE1")[0]
	var took time.Duration
	for range 10 { // the machine may be busy with others just then
		access, err := br.Open(t.Context(), "PHONE1", bridge.Lease{})
		if err != nil {
			t.Fatal(err)
		}
		closes(t, access)
		b.env = access.Env()
		_, conn := b.ask(t, "host:transport-any", "exec:cat")
		saysBack(t, conn, "open")
		cut := time.Now()
		access.Cut()
		ends(t, "the shell", conn)
		if took = time.Since(cut); took <= 100*time.Millisecond {
			return
		}
	}
	t.Errorf("a cut took %v, want 100 ms at most", took)
}

func TestForwardsAreTheGatesOwn(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	b.echo()
	port := fmt.Sprint("tcp:", adbtest.FreePort(t))
	socket := "localfilesystem:" + filepath.Join(t.TempDir(), "s")
	for _, c := range []struct {
		args []string
		ok   bool
	}{
		{[]string{"forward", port, "tcp:7000"}, true},
		{[]string{"forward", "--no-rebind", port, "tcp:7000"}, false},
		{[]string{"forward", port, "tcp:7000"}, true},
		{[]string{"forward", socket, "tcp:7000"}, true},
		{[]string{"forward", "tcp:x", "tcp:7000"}, false},
		{[]string{"forward", "--remove", "tcp:1"}, false},
	} {
		if got := b.run(t, "", c.args...); (got.code == 0) != c.ok {
			t.Errorf("adb %q = %+v, want success = %v", c.args, got, c.ok)
		}
	}
	saysBack(t, dial(t, "127.0.0.1:"+strings.TrimPrefix(port, "tcp:")), "tcp")
	conn, err := net.Dial("unix", strings.TrimPrefix(socket, "localfilesystem:"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	saysBack(t, conn, "unix")
	if got := b.run(t, "", "forward", "--remove", port); got.code != 0 {
		t.Errorf("adb forward --remove = %+v", got)
	}
	if list := strings.TrimSpace(b.run(t, "", "forward", "--list").out); list != b.serial+" "+socket+" tcp:7000" {
		t.Errorf("adb forward --list = %q, want the one that is left", list)
	}
	if got := b.run(t, "", "forward", "--remove-all"); got.code != 0 {
		t.Errorf("adb forward --remove-all = %+v", got)
	}
	if list := strings.TrimSpace(b.run(t, "", "forward", "--list").out); list != "" {
		t.Errorf("adb forward --list = %q, want nothing", list)
	}
}

func TestAReverseLeadsThroughTheGateAndEndsWithIt(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	host := fmt.Sprint("tcp:", l.Addr().(*net.TCPAddr).Port)
	if got := b.run(t, "", "reverse", "tcp:8081", host); got.code != 0 {
		t.Fatalf("adb reverse = %+v", got)
	}
	chosen := strings.TrimSpace(b.run(t, "", "reverse", "tcp:0", host).out)
	if list := strings.TrimSpace(b.run(t, "", "reverse", "--list").out); list != "(reverse) tcp:8081 "+host+"\n(reverse) tcp:"+chosen+" "+host {
		t.Errorf("adb reverse --list = %q, want both as they were asked for", list)
	}
	if got := b.run(t, "", "reverse", "--no-rebind", "tcp:8081", host); got.code == 0 {
		t.Errorf("adb reverse --no-rebind = %+v, want a refusal", got)
	}
	if got := b.run(t, "", "reverse", "--remove", "tcp:"+chosen); got.code != 0 || len(b.phone.Ways()) != 1 {
		t.Errorf("adb reverse --remove = %+v, and the phone has %q", got, b.phone.Ways())
	}
	conn, err := b.phone.Dial(t.Context(), "tcp:8081")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	saysBack(t, conn, "from the phone")
	b.access.Cut()
	ends(t, "the phone's connection", conn)
	if err := b.access.Close(t.Context()); err != nil || len(b.phone.Ways()) != 0 {
		t.Errorf("Close = %v, and the phone still listens on %q", err, b.phone.Ways())
	}
}

func TestAGateInAProcessThatWasStoppedPassesNothing(t *testing.T) {
	t.Parallel()
	var past atomic.Bool // the fence
	b := oneBooth(t, bridge.Lease{MayDrive: func() bool { return !past.Load() }})
	b.echo()
	port := strings.TrimSpace(b.run(t, "", "forward", "tcp:0", "tcp:7000").out)
	forwarded, idle := dial(t, "127.0.0.1:"+port), dial(t, "127.0.0.1:"+port)
	saysBack(t, forwarded, "before")
	saysBack(t, idle, "before")
	_, waiting := b.ask(t, "host:transport-any")
	before := len(b.phone.Commands())
	past.Store(true) // and nobody cuts
	if _, err := io.WriteString(forwarded, "after\n"); err != nil {
		t.Fatal(err)
	}
	ends(t, "the forward", forwarded)
	ends(t, "another, that said nothing", idle)
	_, _ = io.WriteString(waiting, wire.Block("shell:input tap 1 1")) // it may be cut by now
	if err := wire.ReadStatus(waiting, "shell"); err == nil {
		t.Error("a command was taken after the fence")
	}
	b.run(t, "", "shell", "input tap 1 1")
	if got := b.phone.Commands()[before:]; len(got) != 0 {
		t.Errorf("%+v ran after the fence", got)
	}
}

func TestC32_WhatComesAfterADeadServerIsNotTheLeases(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	br := newBridge(t, srv)
	b := booths(t, srv, br, bridgetest.Watch(t, br), bridge.Lease{}, "PHONE1")[0]
	_, track := b.ask(t, "host:track-devices")
	list := func() string {
		t.Helper()
		text, err := wire.ReadBlock(track)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := list(); got != b.serial+"\tdevice\n" {
		t.Errorf("track-devices says %q, want the phone", got)
	}
	srv.Kill()
	if got := list(); got != "" {
		t.Errorf("track-devices says %q when the server is dead, want nothing", got)
	}
	srv.Restart(t)
	srv.Attach(t, b.serial) // which gets the number that it had
	srv.Await(t, b.serial, wire.StateDevice)
	before := len(b.phone.Commands())
	if got := b.run(t, "", "shell", "input tap 1 1"); got.code == 0 || !strings.Contains(got.err, "not found") {
		t.Errorf("adb shell = %+v, want that the device is not there", got)
	}
	if got := b.run(t, "", "wait-for-device"); got.code == 0 {
		t.Errorf("adb wait-for-device = %+v, want a refusal: it would wait for ever", got)
	}
	for _, c := range b.phone.Commands()[before:] {
		if strings.HasPrefix(c.Line, "input") {
			t.Errorf("%q ran on a phone that the lease had lost", c.Line)
		}
	}
	if err := b.access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("Probe = %v, want ErrGone", err)
	}
}

// pages keeps what is written to it.
type pages struct {
	mu    sync.Mutex
	lines []string
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, string(b))
	return len(b), nil
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
