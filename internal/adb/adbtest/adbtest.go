// Package adbtest gives tests the real adb server, on a port of its own, with simulated phones attached.
//
//	srv := adbtest.NewServer(t)
//	phone := simdevice.New(simdevice.Options{})
//	serial := srv.Connect(t, phone)
//
// It is for tests only. The server never uses port 5037, keeps its keys in the test's directory, looks for
// no emulators, and dies with the test, also when the test process is killed (on Linux). Phones listen
// outside 5555 to 5585, where adb servers look for emulators. Different servers may be used by
// tests that run at the same time; one server's methods by one goroutine at a time.
package adbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

// patience is how long a real process may take on a machine that is busy with other tests.
const patience = 30 * time.Second

// Server is a running adb server.
type Server struct {
	// Client asks this server.
	Client *adb.Client
	binary string
	port   int
	home   string
	cmd    *exec.Cmd
	ended  chan struct{} // closed when cmd has ended
}

// NewServer starts an adb server that ends with t. Without an adb program t is skipped, or fails where CI=true.
func NewServer(t testing.TB) *Server {
	t.Helper()
	binary := Binary(t)
	// t.TempDir may be too long for the sockets that adb might make there, and adb may still write while
	// it is removed; this one is removed when the server is dead.
	home, err := os.MkdirTemp("", "adbtest")
	if err != nil {
		t.Fatalf("making the adb server's home: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Errorf("removing the adb server's home: %v", err)
		}
	})
	s := &Server{binary: binary, home: home}
	t.Cleanup(s.Kill)
	for range 3 { // the free port may be taken before adb binds it
		s.port = FreePort(t)
		address, err := adb.ResolveAddress(net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), os.Getenv)
		if err != nil {
			t.Fatalf("addressing the adb server: %v", err)
		}
		s.Client = adb.New(address, adb.Options{Binary: binary, Environ: s.Env()})
		if err = s.start(t.Context()); err == nil {
			return s
		}
		t.Logf("starting the adb server: %v\n%s", err, s.said())
		s.Kill()
	}
	t.Fatal("the adb server did not start")
	return nil
}

// Binary is the path of the adb program. Without one t is skipped, or fails where CI=true.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("adb")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the adb server is needed (Debian package adb): %v", err)
		}
		t.Skipf("no adb program (Debian package adb): %v", err)
	}
	return path
}

// FreePort is a port of 127.0.0.1 on which nothing listened a moment ago, and which means nothing to adb.
func FreePort(t testing.TB) int {
	t.Helper()
	l := listen(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listening on a free port: %v", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if port != adb.DefaultPort && (port < 5554 || port > 5586) {
			return l
		}
		l.Close()
	}
	t.Fatal("no free port outside adb's own")
	return nil
}

func (s *Server) start(ctx context.Context) error {
	log, err := os.Create(s.logPath())
	if err != nil {
		return fmt.Errorf("making the adb server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.binary, "-L", "tcp:"+strconv.Itoa(s.port), "nodaemon", "server")
	cmd.Env = append(os.Environ(), s.Env()...)
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting adb: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the log says why it ended, if nobody killed it
	}()
	s.cmd, s.ended = cmd, ended
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return poll(ctx, func() error {
		select {
		case <-ended:
			cancel()
			return errors.New("it ended by itself")
		default:
		}
		_, err := s.Client.Version(ctx)
		return err
	})
}

func (s *Server) logPath() string { return filepath.Join(s.home, "server.log") }

// said is the server's log, for a failure.
func (s *Server) said() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Addr is HOST:PORT of the server.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Env is what makes adb, and all that honours its variables, use this server and no key of the user's.
func (s *Server) Env() []string {
	return []string{
		"HOME=" + s.home, "ANDROID_SDK_HOME=" + s.home, "TMPDIR=" + s.home,
		// No host: adb could not start a server again at one.
		"ADB_SERVER_SOCKET=tcp:" + strconv.Itoa(s.port),
		"ANDROID_ADB_SERVER_PORT=" + strconv.Itoa(s.port),
		"ADB_LOCAL_TRANSPORT_MAX_PORT=5554", // below the first port of an emulator
		"ANDROID_SERIAL=", "ADB_VENDOR_KEYS=",
	}
}

// Serve puts phone on a port until t ends and returns its HOST:PORT, which is its serial once it is attached.
func Serve(t testing.TB, phone *simdevice.Phone) string {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- phone.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving a phone: %v", err)
		}
	})
	return l.Addr().String()
}

// Connect serves phone until t ends, attaches it, and waits until the server lists it as ready. It returns the serial.
func (s *Server) Connect(t testing.TB, phone *simdevice.Phone) string {
	t.Helper()
	serial := Serve(t, phone)
	s.Attach(t, serial)
	s.Await(t, serial, adb.StateDevice)
	return serial
}

// Attach is `adb connect serial`, whatever state comes of it.
func (s *Server) Attach(t testing.TB, serial string) {
	t.Helper()
	s.run(t, "connect", serial)
}

// Detach is `adb disconnect serial`.
func (s *Server) Detach(t testing.TB, serial string) {
	t.Helper()
	s.run(t, "disconnect", serial)
}

func (s *Server) run(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.binary, args...)
	cmd.Env = append(os.Environ(), s.Env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		// adb reports an unauthorized phone as a failure and attaches it all the same.
		t.Logf("adb %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// Await waits until the server shows serial in state and returns its line.
func (s *Server) Await(t testing.TB, serial string, state adb.State) adb.Device {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var found adb.Device
	err := poll(ctx, func() error {
		devices, err := s.Client.Devices(ctx)
		if err != nil {
			return err
		}
		for _, d := range devices {
			if d.Serial == serial && d.State == state {
				found = d
				return nil
			}
		}
		return fmt.Errorf("%s is not %s in %+v", serial, state, devices)
	})
	if err != nil {
		t.Fatalf("waiting for a phone: %v", err)
	}
	return found
}

// Kill ends the server at once, as a crash would. Phones attached by Connect do not come back by themselves.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // an error says that it has ended already
	<-s.ended
	s.cmd = nil
}

// Restart starts the server again after Kill, on the same port with the same keys and no phones.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.start(t.Context()); err != nil {
		t.Fatalf("starting the adb server again: %v\n%s", err, s.said())
	}
}

// poll repeats try until it succeeds or ctx ends.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
