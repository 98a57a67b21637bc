package minder

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupOnly: orphans go to launchd, so only the process group tells whose they are.
const groupOnly = true

const zombie = 5 // SZOMB in sys/proc.h

func ownBinary() (string, error) { return os.Executable() }

func showName() {}

func runnerAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() error { return nil }

func processTable() ([]process, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	table := make([]process, 0, len(infos))
	for i := range infos {
		table = append(table, fromInfo(&infos[i]))
	}
	return table, nil
}

func lookUp(pid int) (process, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return process{}, false
	}
	return fromInfo(info), true
}

func fromInfo(info *unix.KinfoProc) process {
	start := info.Proc.P_starttime
	return process{
		identity: identity{
			pid:   int(info.Proc.P_pid),
			start: uint64(start.Sec)*1_000_000 + uint64(start.Usec),
		},
		parent: int(info.Eproc.Ppid),
		group:  int(info.Eproc.Pgid),
		dead:   info.Proc.P_stat == zombie,
	}
}

// putMark and hasMark know no marks: the system shows nobody's limits.
func putMark(string) {}

func hasMark(int, string) bool { return false }

// cookieOf knows no cookies: the system shows nobody's environment.
func cookieOf(int) string { return "" }
