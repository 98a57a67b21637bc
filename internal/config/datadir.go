package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const lockName = "LOCK"

// InUseError refuses a data directory that another process has.
type InUseError struct {
	Dir string
	PID int // of its holder; 0 if that has just begun or just ended
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s", e.Dir, holder)
}

// Lock is the right of this process to a data directory.
type Lock struct{ file *os.File }

// LockDir makes dir, readable by its owner only, if it is not there, and takes it for
// this process until Release or the end of the process, however that comes. If it is
// taken, also by this very process, the error is an *InUseError and nothing in the
// directory was touched.
func LockDir(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := take(f, dir); err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{file: f}, nil
}

func take(f *os.File, dir string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &InUseError{Dir: dir, PID: holder(f)}
	}
	if err != nil {
		return fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	// The number is for people who meet the lock: the lock itself is the kernel's.
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write to data directory: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write to data directory: %w", err)
	}
	return nil
}

func holder(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// Holder is the process that has dir, or 0. It takes nothing, so it may be wrong for a moment around a start or an end.
func Holder(dir string) int {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	defer f.Close()
	pid := holder(f)
	if pid == 0 || errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return 0
	}
	return pid
}

// Release gives the directory back. The lock file stays: deleting it would let two
// processes hold two files of one name.
func (l *Lock) Release() error {
	// A process that is being forked right now holds a copy of the file: closing alone would leave it locked for a moment.
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}

// TotalSpace is how large the file system is that dir is on.
func TotalSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("size of the file system of %s: %w", dir, err)
	}
	return int64(fs.Blocks) * int64(fs.Bsize), nil
}

// FreeSpace is the number of bytes that this process, not being root, could still
// write to the file system that dir is on.
func FreeSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
