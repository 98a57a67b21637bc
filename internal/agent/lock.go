package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errHeld means that something still has its hands on the device, whatever anybody believes.
var errHeld = errors.New("the device's lock is taken")

// deviceLock is a device's lock file, taken.
type deviceLock struct{ file *os.File }

// release gives the lock back. Closing alone would not do: a process that is just being started has a copy of the file until
// it becomes the program that it is to be.
func (l *deviceLock) release() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}

// tryLock takes a device's lock and gives it back.
func tryLock(dir, key string) error {
	lock, err := lockDevice(dir, key)
	if err != nil {
		return err
	}
	return lock.release()
}

// lockDevice takes the lock file of a device until it is released or this process and the minder that was
// given the file have ended. The file is never removed: that
// would let two hold two files of one name.
func lockDevice(dir, key string) (*deviceLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock the device: %w", err)
	}
	sum := sha256.Sum256([]byte(key))
	file, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(sum[:12])+".lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the device: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("lock the device: %w", err)
	}
	return &deviceLock{file: file}, nil
}
