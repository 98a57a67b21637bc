package adb_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
)

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
	for _, args := range [][]string{{"shell", "echo late"}, {"-P", b.variable("ANDROID_ADB_SERVER_PORT"), "shell", "echo late"}} {
		if got := b.run(t, "", args...); got.code == 0 || strings.Contains(got.out, "late") || strings.Contains(got.err, "starting now") {
			t.Errorf("after the cut adb %q = %+v, want that nothing is there and nothing is started", args, got)
		}
	}
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
