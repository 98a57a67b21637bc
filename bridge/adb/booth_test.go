package adb_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
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

type booth struct {
	srv    *adbtest.Server
	phone  *simdevice.Phone
	serial string // at the server
	access bridge.Access
	env    []string
}

func booths(t testing.TB, srv *adbtest.Server, b *adb.Bridge, w *bridgetest.Watched, lease bridge.Lease, names ...string) []*booth {
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

func (b *booth) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adbtest.Binary(t), args...)
	cmd.Env = append(append(os.Environ(), b.srv.Env()...), b.env...)
	cmd.WaitDelay = time.Second
	return cmd
}

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

// variable is a variable of the lease's environment.
func (b *booth) variable(name string) string {
	for _, e := range b.env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

func (b *booth) dial(t *testing.T) net.Conn {
	t.Helper()
	return dial(t, strings.TrimPrefix(b.variable("ADB_SERVER_SOCKET"), "tcp:"))
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

func ends(t *testing.T, what string, conn io.Reader) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: read %d bytes, %v, want the end", what, n, err)
	}
}

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
