package adb

import (
	"slices"
	"strconv"
	"strings"
)

// process is one line of a device's process table.
type process struct {
	PID    int
	Parent int
	User   string
	Label  string // its security domain; "" where the table does not say
	State  string
	Name   string
}

// listProcesses are the ways to ask for the process table, the best first. Each prints the asking shell's id before it.
var listProcesses = []string{
	"echo $$; ps -A -o USER,PID,PPID,S,LABEL,NAME",
	"echo $$; ps -A -o USER,PID,PPID,NAME",
	"echo $$; ps", // before Android 8
}

// parseProcesses reads what listProcesses print: the id of the shell that was asked, and the table by its header. The header of
// old tables has no name for a column in the middle, so columns are taken from the left, and the name from the right.
func parseProcesses(text string) (shell int, all []process) {
	first, table, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	shell, _ = strconv.Atoi(strings.TrimSpace(first)) // 0 is no process
	var columns []string
	for line := range strings.Lines(table) {
		cells := strings.Fields(line)
		if columns == nil {
			columns = cells
			continue
		}
		if p, ok := parseProcess(columns, cells); ok {
			all = append(all, p)
		}
	}
	return shell, all
}

func parseProcess(columns, cells []string) (process, bool) {
	if len(cells) < len(columns) || len(columns) == 0 {
		return process{}, false
	}
	p := process{Name: cells[len(cells)-1]}
	if columns[len(columns)-1] == "NAME" && len(cells) > len(columns) && slices.Contains(columns, "LABEL") {
		p.Name = strings.Join(cells[len(columns)-1:], " ") // it may hold spaces
	}
	var err error
	for i, column := range columns {
		switch column {
		case "USER":
			p.User = cells[i]
		case "PID":
			p.PID, err = strconv.Atoi(cells[i])
		case "PPID":
			p.Parent, _ = strconv.Atoi(cells[i]) // only tells our own
		case "S":
			p.State = cells[i]
		case "LABEL":
			p.Label = cells[i]
		}
		if err != nil {
			return process{}, false
		}
	}
	return p, p.PID > 0 && p.User != ""
}

// ofShell reports whether p was started through adb: everything that a shell of adb starts is in its domain, whatever it
// does to get away, and nothing of the system is. Where domains are not shown, its user tells, which an app has as well.
func (p process) ofShell() bool {
	switch {
	case p.State == "Z" || p.Name == "adbd" || strings.HasPrefix(p.Name, "/sbin/adbd"):
		return false
	case strings.HasPrefix(p.Label, "u:"):
		domain, _, _ := strings.Cut(strings.TrimPrefix(p.Label, "u:r:"), ":")
		return domain == "shell" || domain == "su"
	}
	return p.User == "shell" && p.Name != "com.android.shell"
}

// mark tells a process from another one that gets its number later.
func (p process) mark() string { return strconv.Itoa(p.PID) + " " + p.Name }

// strays are the processes that were started through adb, are not in known, and are not the asking shell's own.
func strays(shell int, all []process, known []string) []process {
	var found []process
	for _, p := range all {
		if p.ofShell() && p.PID != shell && p.Parent != shell && !slices.Contains(known, p.mark()) {
			found = append(found, p)
		}
	}
	return found
}
