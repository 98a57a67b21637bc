package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// side is a service that was started, in a process group of its own: what the program is told it is not told.
type side struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

func start(s runner.Service, out *lines) (*side, error) {
	b := &side{cmd: exec.Command(s.Argv[0], s.Argv[1:]...), over: make(chan struct{})}
	b.cmd.Env = append(os.Environ(), s.Env...)
	b.cmd.Stdout, b.cmd.Stderr = out, out
	b.cmd.SysProcAttr = attributes()
	b.cmd.WaitDelay = time.Second // for children of its that hold its output
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(b.over)
		_ = b.cmd.Wait() // ended tells how it ended
		out.flush()
	}()
	return b, nil
}

// ended is how it ended, once it has.
func (b *side) ended() error {
	if code := codeOf(b.cmd.ProcessState); code < codeSignalled {
		return fmt.Errorf("ended with exit code %d", code)
	}
	return errors.New("was killed")
}

// stop ends it with everything in its group: SIGTERM, and SIGKILL for what does not heed it.
func (b *side) stop() {
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGTERM) // an error says that nothing is left
	select {
	case <-b.over:
	case <-time.After(patience):
	}
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	<-b.over
}

// maxLine is how much of a line is written at once.
const maxLine = 16 << 10

// prefixed puts prefix before each line that is written. Lines go out whole, unless they are very long.
func prefixed(w io.Writer, prefix string) *lines { return &lines{w: w, prefix: prefix} }

type lines struct {
	mu     sync.Mutex
	w      io.Writer
	prefix string
	rest   []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		n, line, _ := bufio.ScanLines(l.rest, len(l.rest) > maxLine) // it has no errors
		if n == 0 {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(l.w, "%s%s\n", l.prefix, line); err != nil {
			return 0, err
		}
		l.rest = l.rest[n:]
	}
}

// flush writes the last line, when nothing has ended it.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		_, _ = fmt.Fprintf(l.w, "%s%s\n", l.prefix, l.rest) // nobody is left to be told
		l.rest = nil
	}
}
