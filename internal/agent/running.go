package agent

import "github.com/phonebooth-dev/phonebooth"

// RunnerOf is the process id of the program that works on a task at this moment; ok is false when there is none. It may be
// called at any time, also while Run runs; the process may have ended when it returns.
func (a *Agent) RunnerOf(task phonebooth.TaskID) (pid int, ok bool) {
	for _, l := range a.leases.all() {
		l.mu.Lock()
		m := l.minder
		l.mu.Unlock()
		if l.Task.ID == string(task) && m != nil {
			return m.Runner(), true
		}
	}
	return 0, false
}
