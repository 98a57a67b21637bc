package minder

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupOnly: a runner's orphans come to the minder, so they are found by their parents.
const groupOnly = false

// ownBinary is the image that runs, also after an upgrade has replaced its file.
func ownBinary() (string, error) { return "/proc/self/exe", nil }

// showName gives the process its name in ps and top, which would be "exe" after ownBinary.
func showName() { _ = os.WriteFile("/proc/self/comm", []byte("phonebooth"), 0) }

// runnerAttr makes the runner the head of a process group that the kernel kills with
// the thread that started it: that thread must live as long as the minder.
func runnerAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of every descendant whose own parent dies.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// processTable lists every process that can be seen.
func processTable() ([]process, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var table []process
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if p, found := lookUp(pid); found {
			table = append(table, p)
		}
	}
	return table, nil
}

// lookUp reads the line of one process.
func lookUp(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// "pid (name) state parent group ...": the name may hold anything, ")" included.
	_, rest, found := cutLast(string(data), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return process{}, false
	}
	p := process{identity: identity{pid: pid}, dead: fields[0] == "Z" || fields[0] == "X"}
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// cookieOf is the cookie that a process was started with, "" if it has none, is gone, or
// belongs to somebody else.
func cookieOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if cookie, found := bytes.CutPrefix(entry, []byte(CookieVar+"=")); found {
			return string(cookie)
		}
	}
	return ""
}
