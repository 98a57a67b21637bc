package control

import (
	"sync"

	"github.com/phonebooth-dev/phonebooth"
)

// watches wake those who follow one task: nobody is woken by what happens to another.
type watches struct {
	mu     sync.Mutex
	byTask map[phonebooth.TaskID]*watch
}

// watch is one task that is followed.
type watch struct {
	all       *watches
	followers int
	moves     int           // how often the task has changed
	next      chan struct{} // closed when something of it has changed
}

// join begins to watch; each join needs its leave.
func (w *watches) join(id phonebooth.TaskID) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byTask[id]
	if one == nil {
		if w.byTask == nil {
			w.byTask = map[phonebooth.TaskID]*watch{}
		}
		one = &watch{all: w, next: make(chan struct{})}
		w.byTask[id] = one
	}
	one.followers++
	return one
}

func (w *watches) leave(id phonebooth.TaskID, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.followers--; one.followers == 0 {
		delete(w.byTask, id)
	}
}

// grown says that a log of the task has.
func (w *watches) grown(id phonebooth.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake(id, 0)
}

// moved says that tasks have changed.
func (w *watches) moved(events []phonebooth.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byTask) == 0 {
		return
	}
	for _, e := range events {
		w.wake(e.TaskID, 1)
	}
}

func (w *watches) wake(id phonebooth.TaskID, moves int) {
	if one := w.byTask[id]; one != nil {
		one.moves += moves
		close(one.next)
		one.next = make(chan struct{})
	}
}

// state is what to wait on for the next change, and how often the task has changed so far.
func (w *watch) state() (next <-chan struct{}, moves int) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return w.next, w.moves
}
