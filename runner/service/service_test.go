package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// serveVerb makes the test binary a service: it answers at a port once a file is there.
const serveVerb = "__serve"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveVerb {
		fmt.Print("serving\nno end of this line")
		ready := func(w http.ResponseWriter, _ *http.Request) {
			if _, err := os.Stat(os.Getenv("READY_FILE")); err != nil {
				http.Error(w, "not yet", http.StatusServiceUnavailable)
			}
		}
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[2], http.HandlerFunc(ready)))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// output is a buffer that several processes' output may go to.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// served is a service that gets ready when its file is there, and where it is asked.
func served(t *testing.T) (s runner.Service, file, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	file = filepath.Join(t.TempDir(), "ready")
	return runner.Service{
		Argv: []string{os.Args[0], serveVerb, address}, Env: []string{"READY_FILE=" + file}, Ready: "http://" + address + "/", Within: time.Minute,
	}, file, address
}

// free reports whether nothing listens at address any more.
func free(address string) bool {
	c, err := net.Dial("tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

func TestTheServiceIsThereForTheProgramAndEndsWithIt(t *testing.T) {
	t.Parallel()
	s, file, address := served(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log output
	code, _ := attend(s, []string{"sh", "-c", "echo program; exit 7"}, nil, &out, &log)
	if code != 7 || out.String() != "program\n" {
		t.Errorf("exit code %d, output %q, want the program's: 7 and its line", code, out.String())
	}
	name := filepath.Base(os.Args[0])
	if want := "[" + name + "] serving\n[" + name + "] no end of this line\n"; log.String() != want {
		t.Errorf("log %q, want each line of the service behind its name: %q", log.String(), want)
	}
	if !free(address) {
		t.Error("the service is still there, want it ended")
	}
}

func TestAServiceThatDoesNotGetReadyIsSaidToBeWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*runner.Service)
		want  string
	}{
		"not within its time": {func(s *runner.Service) { s.Within = 300 * time.Millisecond }, "was not ready within 300ms"},
		"ends at once":        {func(s *runner.Service) { s.Argv = []string{"sh", "-c", "echo no room >&2; exit 5"} }, "ended with exit code 5 before it was ready"},
		"is killed":           {func(s *runner.Service) { s.Argv = []string{"sh", "-c", "kill -9 $$"} }, "was killed before it was ready"},
		"is not there":        {func(s *runner.Service) { s.Argv = []string{"no-such-program-here"} }, "cannot be started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, address := served(t)
			c.spoil(&s)
			var out, log output
			code, _ := attend(s, []string{"echo", "must not run"}, nil, &out, &log)
			if code != codeNotReady || !strings.Contains(log.String(), c.want) || out.String() != "" {
				t.Errorf("exit code %d, log %q, output %q; want %d, %q and nothing run", code, log.String(), out.String(), codeNotReady, c.want)
			}
			if !free(address) {
				t.Error("the service is still there, want it ended")
			}
		})
	}
}

func TestSignalsGoToTheProgram(t *testing.T) {
	t.Parallel()
	s, file, _ := served(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan os.Signal, 1)
	var out, log output
	begun := &begins{output: &out, first: make(chan struct{})}
	go func() {
		<-begun.first
		told <- syscall.SIGTERM
	}()
	code, _ := attend(s, []string{"sh", "-c", "trap 'echo told; exit 9' TERM; echo begun; while :; do sleep 0.05; done"}, told, begun, &log)
	if code != 9 || out.String() != "begun\ntold\n" {
		t.Errorf("exit code %d, output %q, want the program to be told and to end by itself with 9; log:\n%s", code, out.String(), log.String())
	}
}

// begins tells when something was written.
type begins struct {
	*output
	first chan struct{}
	once  sync.Once
}

func (b *begins) Write(p []byte) (int, error) {
	defer b.once.Do(func() { close(b.first) })
	return b.output.Write(p)
}

func TestAServiceThatTakesAConnectionAndSaysNothingHidesNoSignal(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	told := make(chan os.Signal, 1)
	told <- syscall.SIGTERM
	var out, log output
	s := runner.Service{Argv: []string{"sleep", "600"}, Ready: "http://" + mute.Addr().String() + "/", Within: 10 * time.Minute}
	if code, _ := attend(s, []string{"echo", "must not run"}, told, &out, &log); code != 143 || out.String() != "" {
		t.Errorf("exit code %d, output %q, want 143 and nothing run", code, out.String())
	}
}

func TestASignalBeforeTheServiceIsReadyEndsTheWait(t *testing.T) {
	t.Parallel()
	s, _, address := served(t)
	told := make(chan os.Signal, 1)
	told <- syscall.SIGINT
	var out, log output
	if code, _ := attend(s, []string{"echo", "must not run"}, told, &out, &log); code != 130 || out.String() != "" {
		t.Errorf("exit code %d, output %q, want 130 and nothing run", code, out.String())
	}
	if !free(address) {
		t.Error("the service is still there, want it ended")
	}
}

func TestAProgramThatIsKilledIsToldAsShellsDo(t *testing.T) {
	t.Parallel()
	s, file, _ := served(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log output
	if code, by := attend(s, []string{"sh", "-c", "kill -9 $$"}, nil, &out, &log); code != 137 || by != syscall.SIGKILL {
		t.Errorf("exit code %d by %v, want 137 by SIGKILL", code, by)
	}
	if code, _ := attend(s, []string{"no-such-program-here"}, nil, &out, &log); code != codeNotFound {
		t.Errorf("exit code %d of a program that there is not, want %d", code, codeNotFound)
	}
}

func TestTheVerbIsReadStrictly(t *testing.T) {
	t.Parallel()
	spec, err := json.Marshal(runner.Service{Argv: []string{"x"}, Ready: "http://127.0.0.1:1/", Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		args []string
		ok   bool
	}{
		{[]string{Verb, string(spec), "--", "run", "it"}, true},
		{[]string{Verb, string(spec), "--"}, false},
		{[]string{Verb, "{", "--", "run"}, false},
		{[]string{Verb, "{}", "--", "run"}, false},
		{[]string{Verb}, false},
		{nil, false},
	} {
		s, argv, err := read(c.args)
		if c.ok != (err == nil) || c.ok && (len(s.Argv) != 1 || strings.Join(argv, " ") != "run it") {
			t.Errorf("%s: %+v, %q, %v; want it read: %v", strconv.Itoa(i), s, argv, err, c.ok)
		}
	}
}
