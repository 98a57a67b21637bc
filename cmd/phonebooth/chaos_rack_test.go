//go:build linux

package main_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// rack is an adb server that an agent of the world starts, and starts again when it was killed, and the simulated phones that
// are attached to it. The phones live in the test's own process: they outlive every kill and remember what reached them.
type rack struct {
	*booth
	port    int
	client  *adb.Client
	phones  []*simdevice.Phone
	serials []string // by which the server knows the phones
}

// rack makes one with n phones for every process of the world that is started afterwards.
func (b *booth) rack(t testing.TB, n int) *rack {
	t.Helper()
	binary := adbtest.Binary(t)
	r := &rack{booth: b, port: adbtest.FreePort(t)}
	if err := os.MkdirAll(b.path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(r.port)
	b.env = append(b.env, "TMPDIR="+b.path("tmp"), "ANDROID_SDK_HOME="+b.home, "ADB_SERVER_SOCKET=tcp:"+port, "ANDROID_ADB_SERVER_PORT="+port,
		"ADB_LOCAL_TRANSPORT_MAX_PORT=5554") // below the first port of an emulator
	address, err := adb.ResolveAddress(net.JoinHostPort("127.0.0.1", port), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	r.client = adb.New(address, adb.Options{Binary: binary})
	t.Cleanup(func() { // when its agent is dead and starts none any more
		eventually(t, "the death of the adb server", func() bool {
			for _, p := range r.servers() {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			return len(r.servers()) == 0
		})
	})
	for i := range n {
		phone := simdevice.New(simdevice.Options{Serial: fmt.Sprintf("PHONE%d", i+1), Model: fmt.Sprintf("Phone %d", i+1)})
		r.phones = append(r.phones, phone)
		r.serials = append(r.serials, adbtest.Serve(t, phone))
	}
	return r
}

// servers lists the world's adb servers: one, or none.
func (r *rack) servers() []seen {
	return slices.DeleteFunc(r.processes(), func(p seen) bool {
		return !slices.Contains(p.args, "tcp:"+strconv.Itoa(r.port)) || !slices.Contains(p.args, "server")
	})
}

// attach waits until an agent has started the server and attaches all phones to it.
func (r *rack) attach(t testing.TB) {
	t.Helper()
	eventually(t, "an adb server with its phones", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := r.client.Version(ctx); err != nil {
			return false // asking with adb would start it
		}
		devices, err := r.client.Devices(ctx)
		for _, serial := range r.serials {
			attached := slices.ContainsFunc(devices, func(d adb.Device) bool { return d.Serial == serial && d.State.Ready() })
			if err != nil || !attached {
				_, _ = r.client.Query(ctx, "host:connect:"+serial) // the next look tells
				return false
			}
		}
		return true
	})
}

// kill kills the server and returns when it is dead. It reports whether there was one.
func (r *rack) kill(t testing.TB) bool {
	t.Helper()
	victims := r.servers()
	for _, p := range victims {
		p.kill(t)
	}
	return len(victims) > 0
}

// adb runs the real client in the world's own environment, or with other variables on top of it.
func (r *rack) adb(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, adbtest.Binary(t), args...)
	cmd.Env = append(append([]string{}, r.env...), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// began lists the commands of a phone that hold a text, with their times on the steady clock.
func (r *rack) began(phone int, text string) []simdevice.Command {
	return slices.DeleteFunc(r.phones[phone].Commands(), func(c simdevice.Command) bool { return !strings.Contains(c.Line, text) })
}

// kill sends SIGKILL to a process that is not the test's child, and returns when it is dead.
func (s seen) kill(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("kill %v: %v", s, err)
	}
	eventually(t, "the death of "+s.String(), func() bool { return !alive(s.pid) })
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(text), ") ")
	return found && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
