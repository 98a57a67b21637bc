package webdriver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supported tells whether this system shows whose a process is.
const supported = true

// process is a program that was started at the head of a process group of its own. The kernel kills it when this process
// dies.
type process struct {
	ended chan struct{} // closed when it has ended

	mu     sync.Mutex
	cmd    *exec.Cmd
	reaped bool // its number may be another's
}

// launch starts cmd.
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel takes the end of this thread for ours
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.await()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// await waits for the end and takes the rest of the group along, while the group's number is still its own.
func (p *process) await() {
	for errors.Is(unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.kill()
	p.mu.Lock()
	_ = p.cmd.Wait() // how it ended is nobody's concern
	p.reaped = true
	p.mu.Unlock()
	close(p.ended)
}

// kill kills the whole group at once. It does not wait.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) // it may have ended
	}
}

const (
	endPause = 10 * time.Millisecond // between two looks at the process table
	// endLooks in a row must find nothing: one look can miss a process that forks meanwhile.
	endLooks = 2
)

// endAll kills every process of the place dir. The error says that some would not die.
func endAll(ctx context.Context, dir string) error {
	limit := time.Now().Add(endTime)
	for clean := 0; ; {
		left, err := killOf(dir)
		switch {
		case err != nil:
			return err
		case left > 0:
			clean = 0
		default:
			clean++
		}
		if clean == endLooks {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(limit) {
			return fmt.Errorf("%d processes of the lease's browser are left", left)
		}
		time.Sleep(endPause)
	}
}

// killOf kills what one look finds of a place's processes, and says how many those were.
func killOf(dir string) (int, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("listing processes: %w", err)
	}
	found := 0
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == os.Getpid() || !belongs(pid, dir) {
			continue
		}
		handle, err := os.FindProcess(pid) // holds on to whatever has the number now
		if err != nil {
			continue
		}
		if belongs(pid, dir) {
			found++
			_ = handle.Signal(unix.SIGKILL) // it may just have ended
		}
		_ = handle.Release()
	}
	return found, nil
}

// belongs tells whether a process that lives was started for a place: its environment puts its home there, or it is a part of
// Chromium, which writes over its environment, and is told so by an argument. Naming the place is not enough: so does
// whoever looks at it. A zombie has neither.
func belongs(pid int, dir string) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if env, err := os.ReadFile(filepath.Join(proc, "environ")); err == nil {
		for entry := range bytes.SplitSeq(env, []byte{0}) {
			if string(entry) == "HOME="+filepath.Join(dir, "home") {
				return true
			}
		}
	}
	args, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return false
	}
	for _, name := range []string{"--user-data-dir=", "--database="} {
		if bytes.Contains(args, []byte(name+dir+"/")) {
			return true
		}
	}
	return false
}

// lockFile makes a file that is locked for as long as it stays open. Nobody finds it under its name before it is.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// settling is how long a place may be there before it is locked.
const settling = time.Minute

// abandoned tells whether a place is ours and the agent that made it is dead.
func abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return false
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return time.Since(info.ModTime()) > settling
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
