package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Runner turns goals into commands. It starts nothing.
type Runner interface {
	// Command says which program works on w, without input or output. A *phonebooth.Error ends the attempt failed under the error's code; any
	// other error ends it as runner_misconfigured.
	Command(w Work) (Command, error)

	// Parse reads the end of a program that left no valid result. ok is false when it has nothing to say: then the exit
	// code decides, as [Judge] reads it. It may read what the end offers and add files to its artifacts; nothing else.
	Parse(e End) (report phonebooth.Report, ok bool)
}

// Execute works on one goal to its end and reports how that was. It is the task-execution entry point: behind it is a
// process under the Host Agent's watch, or whatever a program that embeds a host puts there. When ctx ends it stops what it
// started and returns only when nothing of it is left; the cause of ctx, a [Did], says why.
type Execute func(ctx context.Context, w Work) Ended

// Ended is how the work on one goal ended: the report, and what a workflow needs of it.
type Ended struct {
	phonebooth.Report
	Outputs map[string]string // what the program left for later steps
	Log     Section           // what the program wrote
	Over    bool              // the attempt's time is up: no other step begins
	Took    time.Duration     // from its start to its end; 0 when none was started
}

// Section is a part of the attempt's log, counted in bytes as the log's offsets are.
type Section struct {
	Offset int64
	Bytes  int64
}

// Work is one goal on one device.
type Work struct {
	TaskID  phonebooth.TaskID
	Attempt int    // from 1
	Step    int    // of a workflow, from 1; 0: the goal is the whole task
	Steps   int    // how many the workflow has
	StepID  string // the name of the step within its workflow; "": it has none
	Try     int    // of the step, when it is tried again: 2, 3, ...; 0 is the first
	Goal    string
	Inputs  json.RawMessage // JSON object, or nil
	Labels  map[string]string

	Runner   string            // that shall do it; "": the task's, or the device's default
	With     map[string]string // inputs of that runner
	Env      []string          // NAME=VALUE of the step, on top of the host's and the runner's
	Timeout  time.Duration     // of this work, within the attempt's; 0: none of its own
	Composed bool              // the goal holds values that a caller gave: no shell may read it

	DeviceID   phonebooth.DeviceID
	DriverType string
	Serial     string    // the name under which the device is driven
	Deadline   time.Time // when the attempt times out; zero: never
	PortBase   int       // the first of [PortsPerSlot] ports
}

// Ports of a host are given to its device slots in runs of equal length.
const (
	FirstPort    = 20000
	PortsPerSlot = 20
)

// Label is how what the step leaves is told from what others of its workflow leave; "" for a whole task.
func (w Work) Label() string {
	switch {
	case w.Step == 0:
		return ""
	case w.StepID != "":
		return w.StepID
	}
	return fmt.Sprintf("step-%d", w.Step)
}

// Command is a program to start.
type Command struct {
	Argv []string // the program, looked up in PATH when its name has no slash, and its arguments; no shell is involved
	Env  []string // NAME=VALUE, on top of the contract's
	Stop Ladder

	// With is what the program is told of its inputs: those of the work, and what stands for those that were left out. Nil: as
	// the work has them.
	With map[string]string
}

// Ladder is how a program is asked to end: First to its process group, SIGTERM after Grace, SIGKILL after TermGrace. The
// zero value is SIGINT, 5 s, 2 s.
type Ladder struct {
	First     syscall.Signal
	Grace     time.Duration
	TermGrace time.Duration
}

// WithDefaults fills what is left out.
func (l Ladder) WithDefaults() Ladder {
	if l.First == 0 {
		l.First = syscall.SIGINT
	}
	if l.Grace <= 0 {
		l.Grace = 5 * time.Second
	}
	if l.TermGrace <= 0 {
		l.TermGrace = 2 * time.Second
	}
	return l
}

// End is how a program ended and what it left.
type End struct {
	Exit
	Place Place     // its working directory
	Log   io.Reader // what it wrote; nil when that is not there, or not whole: it is more than MaxReadLog, or nobody said ReadsLog
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // -1 when a signal ended it
	Signal string // "SIGSEGV"; "" when it exited
}
