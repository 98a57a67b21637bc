package adbtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

type ran struct {
	out, err string
	code     int
}

// program runs the real adb program as a task's runner would.
func program(t *testing.T, srv *adbtest.Server, serial, stdin string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adbtest.Binary(t), args...)
	cmd.Env = append(append(os.Environ(), srv.Env()...), "ANDROID_SERIAL="+serial)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("adb %v: %v", args, err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func TestTheRealProgramRunsCommandsOnASimulatedPhone(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	serial := srv.Connect(t, simdevice.New(simdevice.Options{Model: "Pixel 9"}))
	long := strings.Repeat("a line of some length\n", 20_000)
	for _, c := range []struct {
		stdin string
		args  []string
		want  ran
	}{
		{"", []string{"shell", "getprop ro.product.model"}, ran{out: "Pixel 9\n"}},
		{"", []string{"shell", "echo out; echo err >&2; exit 9"}, ran{"out\n", "err\n", 9}},
		{"", []string{"shell", "-x", "echo out; exit 9"}, ran{out: "out\n"}},
		{"", []string{"exec-out", "echo", "raw"}, ran{out: "raw\n"}},
		{long, []string{"shell", "cat"}, ran{out: long}},
		{"echo a\nexit 3\n", []string{"shell"}, ran{out: "a\n", code: 3}},
		{"", []string{"get-state"}, ran{out: "device\n"}},
	} {
		if got := program(t, srv, serial, c.stdin, c.args...); got != c.want {
			t.Errorf("adb %v = %.200v, want %.200v", c.args, got, c.want)
		}
	}
}

func TestManyCommandsAtOnceDoNotMix(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	serial := srv.Connect(t, simdevice.New(simdevice.Options{}))
	d := srv.Await(t, serial, adb.StateDevice)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			text := strings.Repeat(fmt.Sprintf("%02d", i), 10_000)
			got, err := srv.Client.Shell(t.Context(), d, "echo "+text+"; sleep 0.05; echo "+text+" >&2; exit "+fmt.Sprint(i))
			if want := (adb.Output{Stdout: text + "\n", Stderr: text + "\n", ExitCode: i}); err != nil || got != want {
				t.Errorf("command %d = %.50v, %v, want its own text and code", i, got, err)
			}
		})
	}
	all.Wait()
}

func TestTheServerKeepsToItself(t *testing.T) {
	t.Parallel()
	a, b := adbtest.NewServer(t), adbtest.NewServer(t)
	serial := a.Connect(t, simdevice.New(simdevice.Options{}))
	if got, err := b.Client.Devices(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("the other server lists %+v, %v, want none", got, err)
	}
	if strings.HasSuffix(a.Addr(), ":5037") || a.Addr() == b.Addr() {
		t.Errorf("servers at %s and %s, want two private ports", a.Addr(), b.Addr())
	}
	a.Detach(t, serial)
	if got := program(t, a, serial, "", "shell", "true"); got.code == 0 {
		t.Errorf("shell on a detached phone = %+v, want a failure", got)
	}
}
