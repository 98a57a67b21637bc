package simdevice

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Process is one process of a phone.
type Process struct {
	PID, Parent int
	User, Label string
	Name        string
}

// process is a Process that can be ended.
type process struct {
	Process
	end      context.CancelFunc // nil: it is none that a shell may end
	stubborn bool
}

// The processes that are always there, and the domains of a shell's.
const (
	initPID    = 1
	adbdPID    = 312
	shellUser  = "shell"
	shellLabel = "u:r:shell:s0"
)

// boot fills the process table and what else a start of the system makes.
func (p *Phone) boot() {
	p.vitals = Vitals{Battery: 87, Charging: true, Free: 48 << 30, ScreenOn: true}
	p.settings[imeSetting] = firstIME
	p.lastPID = 4000
	p.processes = map[int]*process{
		initPID: {Process: Process{PID: initPID, User: "root", Label: "u:r:init:s0", Name: "init"}},
		adbdPID: {Process: Process{adbdPID, initPID, shellUser, "u:r:adbd:s0", "adbd"}},
		841:     {Process: Process{841, initPID, "system", "u:r:system_server:s0", "system_server"}},
		1730:    {Process: Process{1730, initPID, shellUser, "u:r:platform_app:s0:c512,c768", "com.android.shell"}},
	}
}

// fork adds a process of the shell's user. ctx ends when it is killed; exit takes it off the table.
func (p *Phone) fork(ctx context.Context, parent int, name string) (own context.Context, pid int, exit func()) {
	own, end := context.WithCancel(ctx)
	p.mu.Lock()
	p.lastPID++
	pid = p.lastPID
	p.processes[pid] = &process{Process: Process{pid, parent, shellUser, shellLabel, name}, end: end}
	p.mu.Unlock()
	return own, pid, func() {
		end()
		p.mu.Lock()
		delete(p.processes, pid)
		p.mu.Unlock()
	}
}

// Spawn starts a process of the shell's user that no kill ends until Reap, as one that hangs in a driver.
func (p *Phone) Spawn(name string) (pid int) {
	_, pid, _ = p.fork(context.Background(), initPID, name)
	p.mu.Lock()
	p.processes[pid].stubborn = true
	p.mu.Unlock()
	return pid
}

// Reap ends a process at once.
func (p *Phone) Reap(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.processes[pid]; found != nil && found.end != nil {
		found.end()
		delete(p.processes, pid)
	}
}

// Processes lists what runs on the phone, by id.
func (p *Phone) Processes() []Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Process
	for _, running := range slices.SortedFunc(maps.Values(p.processes), func(a, b *process) int { return cmp.Compare(a.PID, b.PID) }) {
		all = append(all, running.Process)
	}
	return all
}

// ps prints the columns that -o asks for, of every process.
func ps(_ context.Context, sh *shell, args []string) int {
	columns := []string{"USER", "PID", "PPID", "NAME"}
	if at := slices.Index(args, "-o"); at >= 0 && at+1 < len(args) {
		columns = strings.Split(args[at+1], ",")
	}
	sh.print("%s\n", strings.Join(columns, " "))
	for _, running := range sh.phone.Processes() {
		cells := map[string]string{
			"USER": running.User, "PID": strconv.Itoa(running.PID), "PPID": strconv.Itoa(running.Parent), "S": "S",
			"LABEL": running.Label, "NAME": running.Name,
		}
		var row []string
		for _, column := range columns {
			cell, known := cells[column]
			if !known {
				sh.complain("ps: bad -o %s", column)
				return codeUsage
			}
			row = append(row, cell)
		}
		sh.print("%s\n", strings.Join(row, " "))
	}
	return 0
}

// kill ends processes of the shell's user, whatever the signal.
func kill(_ context.Context, sh *shell, args []string) int {
	code := 0
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		pid, err := strconv.Atoi(arg)
		sh.phone.mu.Lock()
		found := sh.phone.processes[pid]
		sh.phone.mu.Unlock()
		switch {
		case err != nil || found == nil:
			sh.complain("kill: %s: No such process", arg)
			code = 1
		case found.end == nil:
			sh.complain("kill: %s: Operation not permitted", arg)
			code = 1
		case !found.stubborn:
			found.end()
		}
	}
	return code
}
