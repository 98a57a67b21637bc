//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a person's: what is typed there, and what a verb shows.
type terminal struct {
	*os.File
	cmd *exec.Cmd

	mu    sync.Mutex
	shown strings.Builder
	over  chan struct{} // closed when the verb has ended and everything was read
}

// sit runs a verb at a terminal of 100 columns.
func (b *booth) sit(t *testing.T, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	s := &terminal{File: master, cmd: b.command(args...), over: make(chan struct{})}
	s.cmd.Env = append(append(s.cmd.Env, b.user...), "TERM=xterm-256color")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr.Setsid, s.cmd.SysProcAttr.Setctty = true, true
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.over
		_ = master.Close()
		if t.Failed() {
			t.Logf("phonebooth %v showed %q", args, s.text())
		}
	})
	return s
}

// read takes in what is shown until the verb has ended: then the terminal says so by an error.
func (s *terminal) read() {
	defer close(s.over)
	p := make([]byte, 4096)
	for {
		n, err := s.File.Read(p)
		s.mu.Lock()
		s.shown.Write(p[:n])
		s.mu.Unlock()
		if err != nil {
			_ = s.cmd.Wait() // its exit code is what tests look at
			return
		}
	}
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// expect waits until there is something new to see that matches.
func (s *terminal) expect(t *testing.T, pattern string) {
	t.Helper()
	line := regexp.MustCompile(pattern)
	eventually(t, "what matches "+pattern, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := line.FindStringIndex(s.shown.String())
		if at == nil {
			return false
		}
		rest := s.shown.String()[at[1]:]
		s.shown.Reset()
		s.shown.WriteString(rest)
		return true
	})
}

func (s *terminal) typed(t *testing.T, text string) {
	t.Helper()
	if _, err := s.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func (s *terminal) exits(t *testing.T, want int) {
	t.Helper()
	eventually(t, "the end of the verb", func() bool {
		select {
		case <-s.over:
			return true
		default:
			return false
		}
	})
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
}

const ctrlC = "\x03"

func TestCtrlCWhileWaitingAsksAndASecondOneLeaves(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	wait := func(label string, flags ...string) *terminal {
		s := b.sit(t, append([]string{"submit", "--goal", "x", "--wait", "--label", "n=" + label}, flags...)...)
		s.expect(t, `task_\w+: It waits`)
		return s
	}
	status := func(label string) string {
		t.Helper()
		return b.run(t, "task", "list", "--label", "n="+label)
	}

	s := wait("left")
	s.typed(t, ctrlC)
	s.expect(t, `cancel task_\w+\? `)
	s.typed(t, "\n")
	s.expect(t, `task_\w+: It waits`) // it goes on
	s.typed(t, ctrlC)
	s.expect(t, `cancel task_\w+\? `)
	s.typed(t, ctrlC)
	s.expect(t, `waiting no longer; task_\w+ goes on`)
	s.exits(t, 130)
	if got := status("left"); !strings.Contains(got, "queued") {
		t.Errorf("the task that was left is %s", got)
	}

	s = wait("no")
	s.typed(t, ctrlC)
	s.expect(t, `cancel task_\w+\? `)
	s.typed(t, "n\n")
	s.expect(t, `waiting no longer; task_\w+ goes on`)
	s.exits(t, 130)

	s = wait("yes")
	s.typed(t, ctrlC)
	s.expect(t, `cancel task_\w+\? `)
	s.typed(t, "y\n")
	s.expect(t, `cancelling task_\w+`)
	s.expect(t, `task_\w+ was cancelled`)
	s.exits(t, 3)
	if got := status("yes"); !strings.Contains(got, "cancelled") {
		t.Errorf("the task that was to be cancelled is %s", got)
	}

	s = wait("flag", "--cancel-on-interrupt")
	s.typed(t, ctrlC)
	s.expect(t, `task_\w+ was cancelled`)
	s.exits(t, 3)
	p.kill()
}

func TestAWatchedListIsDrawnOnAScreenOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	b.run(t, "submit", "--goal", "first \x1b[2J\u202egoal")
	s := b.sit(t, "task", "list", "--watch")
	s.expect(t, `\x1b\[\?1049h`)
	s.expect(t, `queued .*first \x{FFFD}\[2J\x{FFFD}goal`)
	id := strings.TrimSpace(b.run(t, "submit", "--goal", "second"))
	s.expect(t, id+` .*queued`)
	p.kill()
	s.expect(t, `the server does not answer`)
	p.restart(t)
	b.run(t, "task", "cancel", id)
	s.expect(t, id+` .*cancelled`)
	s.typed(t, ctrlC)
	s.expect(t, `\x1b\[\?1049l`)
	s.expect(t, id+` .*cancelled`) // it stays to be read
	s.exits(t, 0)
}

func TestATerminalIsShownALogWithoutWhatSteersIt(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "1", "--adb", "off", "--config", b.write(t, "rude.yaml",
		`runners: [{name: rude, argv: [sh, -c, 'printf "\033]0;title\007\033[31mred\033[0m\033[2Jplain\n"']}]`))
	p.waitDevices(t, 1)
	s := b.sit(t, "submit", "--goal", "x", "--runner", "rude", "--follow")
	s.expect(t, `\x1b\[31mred\x1b\[0mplain`)
	s.exits(t, 0)
	if text := s.text(); strings.Contains(text, "title") || strings.Contains(text, "\x1b[2J") {
		t.Errorf("it showed %q", text)
	}
}
