//go:build linux

package main_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// goroutine begins one in what a program says as it dies of SIGQUIT; connection is one that serves an HTTP connection.
var (
	goroutine  = regexp.MustCompile(`(?m)^goroutine \d+ `)
	connection = regexp.MustCompile(`(?m)^created by net/http\.\(\*(?:Transport\)\.dialConn|Server\)\.Serve|connReader\)\.startBackgroundRead)`)
)

// kept is how many connections a client keeps open for its next calls, whatever it needed at its busiest moment.
const kept = 16

// count is how many there are of each thing that could leak.
type count map[string]int

// count counts, and lists what it counted by the same names.
func (y *yard) count(t *testing.T) (count, map[string][]string) {
	t.Helper()
	lists := map[string][]string{}
	for _, p := range y.processes() {
		lists["processes"] = append(lists["processes"], p.String())
	}
	for who, pid := range map[string]int{"agent": y.host.cmd.Process.Pid, "server": y.plane.cmd.Process.Pid} {
		for kind, open := range filesOf(pid) {
			lists[kind+" of the "+who] = open
		}
	}
	lists["under the agent's directory"] = under(y.host.data, "device")
	lists["under the temporary directory"] = under(y.path("tmp"), fmt.Sprintf("phonebooth-devices-%d", os.Getuid()))
	forwards, err := y.rack.client.Query(t.Context(), "host:list-forward")
	if err != nil {
		t.Errorf("list the forwards: %v", err)
	}
	lists["adb forwards"] = strings.Fields(forwards)
	for _, phone := range y.rack.phones {
		lists["ways out of the phones"] = append(lists["ways out of the phones"], phone.Ways()...)
	}
	c := count{}
	for name, list := range lists {
		c[name] = len(list)
	}
	return c, lists
}

// filesOf lists the open files of a process by kind. Sockets come and go with connections that are kept for the next call.
func filesOf(pid int) map[string][]string {
	open := map[string][]string{"files": nil, "sockets": nil}
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, name := range names {
		target, err := os.Readlink(name)
		switch {
		case err != nil: // closed meanwhile
		case strings.HasPrefix(target, "socket:"):
			open["sockets"] = append(open["sockets"], target)
		default:
			open["files"] = append(open["files"], target)
		}
	}
	return open
}

// under lists everything below a directory but what is in the directory of the given name, where locks lie.
func under(dir, locks string) (paths []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // removed meanwhile
			return nil
		case d.IsDir() && d.Name() == locks:
			return fs.SkipDir
		}
		paths = append(paths, path)
		return nil
	})
	return paths
}

// atRest counts when nothing has changed for a while.
func (y *yard) atRest(t *testing.T) count {
	t.Helper()
	y.waitDevices(t, yardDevices)
	last, since := count{}, time.Now()
	eventually(t, "rest", func() bool {
		now, _ := y.count(t)
		if !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
	return last
}

// noMoreThan waits until there is no more of anything than before, but for connections that are kept.
func (y *yard) noMoreThan(t *testing.T, before count) count {
	t.Helper()
	y.waitDevices(t, yardDevices)
	var now count
	var lists map[string][]string
	more := func() (names []string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			most := before[name]
			if strings.HasPrefix(name, "sockets") {
				most += kept
			}
			if now[name] > most {
				names = append(names, name)
			}
		}
		return names
	}
	eventuallyOr(t, func() bool {
		now, lists = y.count(t)
		return len(more()) == 0
	}, func() {
		for _, name := range more() {
			t.Errorf("%s: %d before, %d after:\n%s", name, before[name], now[name], strings.Join(lists[name], "\n"))
		}
	})
	return now
}

// compare is the table.
func compare(before, after count) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %8s %8s\n", "", "before", "after")
	for _, name := range slices.Sorted(maps.Keys(after)) {
		fmt.Fprintf(&b, "%-32s %8d %8d\n", name, before[name], after[name])
	}
	return b.String()
}
