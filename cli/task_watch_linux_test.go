package cli

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// impatient is a terminal whose person ends the program again while the screen is given back.
type impatient struct {
	t     *testing.T
	shown bytes.Buffer
}

func (w *impatient) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "\x1b[?1049l") {
		runtime.LockOSThread() // so that it has come when the call returns
		defer runtime.UnlockOSThread()
		if err := unix.Tgkill(os.Getpid(), syscall.Gettid(), unix.SIGTERM); err != nil {
			w.t.Error(err)
		}
	}
	return w.shown.Write(p)
}

// TestASecondCtrlCLeavesTheTerminalAsItWas ends this process if it is not so.
func TestASecondCtrlCLeavesTheTerminalAsItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the first one
	out := &impatient{t: t}
	cmd := verb(t)
	cmd.SetOut(out)
	w := &taskWatch{cmd: cmd, stream: &reach{}, device: func(id string) string { return id }, shown: map[string]string{}}
	if err := w.draw(ctx, nil, nil); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.shown.String(), "\x1b[?25h\x1b[?1049l") {
		t.Errorf("got %q", out.shown.String())
	}
}
