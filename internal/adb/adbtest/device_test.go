package adbtest_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

func TestTheRealProgramMovesFiles(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	for name, features := range map[string][]string{"now": nil, "before cmd": {"shell_v2"}} {
		phone := simdevice.New(simdevice.Options{Features: features})
		serial := srv.Connect(t, phone)
		here, back := filepath.Join(t.TempDir(), "a.apk"), filepath.Join(t.TempDir(), "b")
		content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
		if err := os.WriteFile(here, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"push", here, "/sdcard/"}, {"pull", "/sdcard/a.apk", back}, {"install", here}} {
			if got := program(t, srv, serial, "", args...); got.code != 0 {
				t.Errorf("%s: adb %q = %+v, want it done", name, args, got)
			}
		}
		pulled, err := os.ReadFile(back)
		if err != nil || !bytes.Equal(pulled, content) {
			t.Errorf("%s: %d bytes came back, %v, want the %d that were pushed", name, len(pulled), err, len(content))
		}
		if installed, ok := phone.File("/data/app/base.apk"); !ok || !bytes.Equal(installed, content) {
			t.Errorf("%s: %d bytes were installed, want %d", name, len(installed), len(content))
		}
		if got := program(t, srv, serial, "", "ls", "/sdcard"); !strings.HasSuffix(got.out, " a.apk\n") {
			t.Errorf("%s: adb ls = %+v, want the file", name, got)
		}
		if got := program(t, srv, serial, "", "pull", "/sdcard/none", back); got.code == 0 {
			t.Errorf("%s: what is not there was pulled: %+v", name, got)
		}
	}
}

func TestTheRealProgramReadsTheLog(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{})
	serial := srv.Connect(t, phone)
	phone.Log("first line")
	if got := program(t, srv, serial, "", "logcat", "-d"); got.out != "first line\n" {
		t.Errorf("logcat -d = %+v, want the line", got)
	}
}

func TestPortsOfThePhoneAreReachedInBothDirections(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	phone := simdevice.New(simdevice.Options{})
	serial := srv.Connect(t, phone)
	phone.Listen("tcp:7000", func(conn io.ReadWriter) { _, _ = io.Copy(conn, conn) })
	port := strings.TrimSpace(program(t, srv, serial, "", "forward", "tcp:0", "tcp:7000").out)
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	echoes(t, conn)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		}
	}()
	_, host, _ := net.SplitHostPort(l.Addr().String())
	if got := program(t, srv, serial, "", "reverse", "tcp:8081", "tcp:"+host); got.code != 0 {
		t.Fatalf("adb reverse = %+v", got)
	}
	out, err := phone.Dial(t.Context(), "tcp:8081")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	echoes(t, out)
	if got := program(t, srv, serial, "", "reverse", "--list"); !strings.Contains(got.out, "tcp:8081 tcp:"+host) {
		t.Errorf("adb reverse --list = %+v, want the port", got)
	}
	if got := program(t, srv, serial, "", "reverse", "--remove-all"); got.code != 0 || len(phone.Ways()) != 0 {
		t.Errorf("adb reverse --remove-all = %+v, and %q are left", got, phone.Ways())
	}
	if _, err := phone.Dial(t.Context(), "tcp:8081"); err == nil {
		t.Error("a port that was removed leads out")
	}
}

func echoes(t *testing.T, conn io.ReadWriter) {
	t.Helper()
	if _, err := io.WriteString(conn, "there and back\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != "there and back\n" {
		t.Fatalf("read %q, %v, want what was written", got, err)
	}
}
