package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	homePattern = "phonebooth-pg-"
	// A directory younger than this may be one whose maker has not locked it yet.
	abandonedAfter = time.Minute
)

// home is the directory of one server: its data, socket and log, and a file that this
// process holds locked for as long as it lives, which tells others that the directory
// is in use.
type home struct {
	dir  string
	lock *os.File
}

func newHome(who *account) (*home, error) {
	removeAbandoned()
	dir, err := os.MkdirTemp(tempDir(), homePattern)
	if err != nil {
		return nil, fmt.Errorf("make the server's directory: %w", err)
	}
	h := &home{dir: dir}
	if err := h.claim(who); err != nil {
		h.remove()
		return nil, fmt.Errorf("make the server's directory: %w", err)
	}
	return h, nil
}

func (h *home) claim(who *account) error {
	var err error
	if h.lock, err = os.Create(ownerFile(h.dir)); err != nil {
		return err
	}
	if err := syscall.Flock(int(h.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if who == nil {
		return nil
	}
	return os.Chown(h.dir, who.uid, who.gid)
}

func (h *home) data() string { return filepath.Join(h.dir, "data") }
func (h *home) log() string  { return filepath.Join(h.dir, "log") }

func (h *home) remove() {
	_ = os.RemoveAll(h.dir) // what stays is taken away by the next process
	if h.lock != nil {
		h.lock.Close()
	}
}

func ownerFile(dir string) string { return filepath.Join(dir, "owner") }

// tempDir is the usual place for temporary files, unless the path of a socket in it
// would be longer than the 107 bytes that the kernel allows.
func tempDir() string {
	if dir := os.TempDir(); len(dir) < 60 {
		return dir
	}
	return "/tmp"
}

// removeAbandoned deletes the directories of processes that ended without doing so.
func removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(tempDir(), homePattern+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > abandonedAfter && !inUse(dir) {
			_ = os.RemoveAll(dir) // another user's stays
		}
	}
}

func inUse(dir string) bool {
	f, err := os.Open(ownerFile(dir))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// account is who the server runs as.
type account struct{ uid, gid int }

// serverUser is nil unless this process is root's, whom PostgreSQL refuses to serve.
func serverUser() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, &missingError{"root needs a user named postgres to run the server as"}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, fmt.Errorf("read the id of user postgres: %w", err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, fmt.Errorf("read the group of user postgres: %w", err)
	}
	return &account{uid: uid, gid: gid}, nil
}

// processAttr makes a process run as who, or as ourselves if who is nil, and end with
// this one where the system can do that.
func processAttr(who *account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests, not for the server
	endWithParent(attr)
	if who != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
	return attr
}
