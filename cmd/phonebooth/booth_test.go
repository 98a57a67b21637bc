//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a wait may take before its test fails: far more than anything needs on a quiet machine.
const patience = 90 * time.Second

// booth is one test's own world: a home directory by which all its processes are known, and what a user there would type.
type booth struct {
	home string
	env  []string // of every process
	user []string // on top of it, of what the user types
}

// newBooth makes a world. When the test ends, nothing of it may be alive.
func newBooth(t testing.TB) *booth {
	t.Helper()
	home := t.TempDir()
	b := &booth{home: home, env: []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
	}}
	t.Cleanup(func() {
		left := b.processes()
		for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = b.processes() {
			<-time.After(20 * time.Millisecond)
		}
		for _, p := range left {
			t.Errorf("still alive: %v", p)
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	return b
}

// path is a file in the world.
func (b *booth) path(name string) string { return filepath.Join(b.home, name) }

// write makes a file there and returns its path.
func (b *booth) write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.path(name)
}

// outcome is what a verb that ended left.
type outcome struct {
	code           int
	stdout, stderr string
}

// try runs a verb to its end.
func (b *booth) try(t testing.TB, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := b.command(args...)
	cmd.Env = append(cmd.Env, b.user...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("phonebooth %v: %v", args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// run runs a verb that exits 0, and returns what it printed.
func (b *booth) run(t testing.TB, args ...string) string {
	t.Helper()
	o := b.try(t, args...)
	if o.code != 0 {
		t.Fatalf("phonebooth %.200q exits %d: %s", args, o.code, o.stderr)
	}
	return o.stdout
}

func (b *booth) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = b.home, append([]string{}, b.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// process is a verb that runs until it is ended.
type process struct {
	cmd  *exec.Cmd
	log  string        // file with all that it wrote
	over chan struct{} // closed when it has ended
}

// start starts a verb. It is killed when the test ends.
func (b *booth) start(t testing.TB, args ...string) *process {
	t.Helper()
	log, err := os.CreateTemp(b.home, args[0]+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: b.command(args...), log: log.Name(), over: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start phonebooth %v: %v", args, err)
	}
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // its exit code is what tests look at
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("phonebooth %v:\n%s", args, p.said())
		}
	})
	return p
}

// said is all that the process has written.
func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// expect waits for a line and returns its first group.
func (p *process) expect(t testing.TB, line *regexp.Regexp) (found string) {
	t.Helper()
	eventually(t, "a line that matches "+line.String(), func() bool {
		m := line.FindStringSubmatch(p.said())
		if m != nil {
			found = m[1]
		} else if p.ended() {
			t.Fatalf("it ended before it wrote what matches %v:\n%s", line, p.said())
		}
		return m != nil
	})
	return found
}

func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// signal sends a signal to the process alone.
func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("send %v: %v", s, err)
	}
}

// kill is SIGKILL; it returns when the process is dead.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended already
	<-p.over
}

// exit waits until the process has ended by itself, and returns its exit code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.over:
	case <-time.After(patience):
		t.Fatalf("it did not end:\n%s", p.said())
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventually polls, for what real processes do.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}

// eventuallyOr is eventually for what is no reason to end the test: when it has waited in vain it says so by otherwise.
func eventuallyOr(t testing.TB, done func() bool, otherwise func()) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience / 6); !done(); <-tick.C {
		if time.Now().After(end) {
			otherwise()
			return
		}
	}
}

// until waits for a moment.
func until(at time.Time) { <-time.After(time.Until(at)) }

// ports counts up below the range from which the system takes ports for connections: so a port is still free when a process
// that was killed is started again.
var ports atomic.Int64

// freeAddress is HOST:PORT on loopback where nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := 10000 + (int64(os.Getpid())*61+ports.Add(1))%9000
		address := net.JoinHostPort("127.0.0.1", strconv.FormatInt(port, 10))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// one decodes text that must be one JSON document and nothing else.
func one[T any](t testing.TB, text string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %.300q: %v", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("more than one document: %.300q", text)
	}
	return v
}

// seen is one process of a world.
type seen struct {
	pid  int
	args []string
	env  []string
}

func (s seen) String() string { return fmt.Sprintf("process %d %.100q", s.pid, s.args) }

// has tells whether the process was started with a variable.
func (s seen) has(entry string) bool { return slices.Contains(s.env, entry) }

// processes lists what is alive in the world: a zombie has no environment any more.
func (b *booth) processes() (found []seen) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range names {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // gone, or another user's
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		s := seen{args: strings.Split(strings.TrimRight(string(args), "\x00"), "\x00"), env: strings.Split(string(env), "\x00")}
		s.pid, _ = strconv.Atoi(filepath.Base(dir))
		if s.has("HOME=" + b.home) {
			found = append(found, s)
		}
	}
	return found
}

// runnersOf lists what is alive of a task's runners.
func (b *booth) runnersOf(task string) (found []seen) {
	for _, p := range b.processes() {
		if p.has("PHONEBOOTH_TASK_ID=" + task) {
			found = append(found, p)
		}
	}
	return found
}

// minders lists the minders that are alive.
func (b *booth) minders() (found []seen) {
	for _, p := range b.processes() {
		if len(p.args) == 2 && p.args[1] == "__minder" {
			found = append(found, p)
		}
	}
	return found
}

// runnersIn lists what is alive of one attempt's runner.
func (b *booth) runnersIn(task string, attempt int) []seen {
	return slices.DeleteFunc(b.runnersOf(task), func(s seen) bool {
		return !s.has("PHONEBOOTH_ATTEMPT=" + strconv.Itoa(attempt))
	})
}

// waitDead waits until nothing of an attempt's runner is alive, and says when that was.
func (b *booth) waitDead(t testing.TB, task string, attempt int) time.Time {
	t.Helper()
	eventually(t, "the death of the runner of "+task, func() bool { return len(b.runnersIn(task, attempt)) == 0 })
	return time.Now()
}

// read is what a file holds.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
