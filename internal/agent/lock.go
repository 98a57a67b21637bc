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

// lockDevice takes the lock file of a device until it is closed or this process ends. It is never removed: that would let
// two hold two files of one name.
func lockDevice(dir, key string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock the device: %w", err)
	}
	sum := sha256.Sum256([]byte(key))
	file, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(sum[:12])+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
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
	return file, nil
}
