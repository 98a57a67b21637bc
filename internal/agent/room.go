package agent

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
	"github.com/phonebooth-dev/phonebooth/internal/config"
)

const (
	errNoSpace = syscall.ENOSPC
	errQuota   = syscall.EDQUOT
)

// minRoom is how much room there must be for asking for work: reports and logs of what runs must still fit.
const minRoom = 64 << 20

// checkRoom looks whether there is room on the disk, so that work is not taken whose outcome could not be kept.
func (a *Agent) checkRoom() {
	full := a.pool.isFull()
	now := a.room(full) != nil
	if !a.pool.setFull(now) {
		return
	}
	if now {
		a.log.Error("no room on the disk: no work is asked for until there is")
	} else {
		a.log.Info("there is room on the disk again")
	}
}

// roomIn says why nothing more should be written to dir. thorough tries it: a quota is not seen otherwise.
func roomIn(dir string, thorough bool) error {
	free, err := config.FreeSpace(dir)
	if err != nil || free < minRoom {
		return diskmap.ErrFull
	}
	if !thorough {
		return nil
	}
	path := filepath.Join(dir, "room")
	if err := diskmap.Replace(path, make([]byte, 64<<10)); err != nil {
		return err
	}
	return os.Remove(path)
}
