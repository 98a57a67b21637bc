// Package minder owns one attempt's runner from its start to the death of its last
// process, in a process of its own.
//
// A minder is the same binary re-executed with the hidden verb Verb. It starts the
// runner, holds a deadline that the agent moves on with each renewal, and kills the
// runner at that deadline whatever the agent is doing: running, stopped, or dead. So
// an agent that cannot keep its lease cannot leave a runner that drives.
//
// # What holds
//
//  1. The runner is dead at the deadline plus a quarter of a second plus what a SIGKILL
//     takes. The deadline is compared with lease time, which counts suspend, at every
//     look and not by a timer alone. A deadline that has passed cannot be moved.
//  2. When the agent dies the minder kills at once, and still writes the exit file.
//  3. When the minder dies the kernel kills the runner, and the agent that still lives
//     sweeps up what the runner had started. Nobody can report better than that:
//     the cause is MinderLost.
//  4. When the runner ends, for whatever reason, everything that it started is killed:
//     its descendants, also those in sessions of their own, and whatever carries its
//     cookie in its environment. What could not be killed is counted in Exit.StrayLeft.
//  5. The end never waits for output: the runner writes to a file, not to a pipe.
//
// # Use
//
//	m, err := minder.Start(ctx, minder.Spec{Argv: argv, Deadline: fence, ...})
//	m.Extend(fence)           // on each renewal
//	exit, err := m.Wait(ctx)
//
// The binary calls Main when its first argument is Verb, before anything else. A
// restarted agent calls KillLeftovers for each record that its journal holds, and then
// ReadExit for what became of the runner.
//
// It is not a sandbox, and it knows nothing of tasks, leases or devices. All methods of
// Minder may be called from any number of goroutines.
//
// # Other systems than Linux
//
// macOS has no way to adopt orphans, to tie a process to its parent's death, or to read
// the environment of another process. There 3 does not hold when agent and minder die
// in the same moment, and 4 reaches the runner's process group only.
package minder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
)

// Verb is the hidden first argument that makes the binary a minder.
const Verb = "__minder"

// CookieVar is the environment variable that marks the processes of one attempt.
const CookieVar = "PHONEBOOTH_COOKIE"

// Spec says what to run and how it may end.
type Spec struct {
	Argv []string // the program, looked up in the PATH of Env if it has no slash, and its arguments
	Dir  string   // where it runs; must exist
	Env  []string // its whole environment; CookieVar is added

	LogPath  string // what it writes to stdout and stderr is appended here (mode 0600)
	ExitPath string // the exit file; an older one is removed
	Cookie   string // cannot be guessed; differs between attempts

	// Lock is a file that the minder holds open until its end, so that a lock on it outlives an agent that dies. May be nil.
	Lock *os.File

	Deadline time.Duration // the first deadline, in lease time
	Ladder   Ladder        // how Stop ends it

	// Journal is called with what tells this minder from every other process, before
	// the runner can start. When it returns an error nothing is started. It should not
	// return before the record is on the disk.
	Journal func(Record) error

	Command Command              // the zero value re-executes this binary
	Now     func() time.Duration // lease time here, in the agent; nil is boottime.Now
}

// Ladder is what Stop does: First to the runner's process group, SIGTERM after Grace,
// SIGKILL after TermGrace. Without First it begins with SIGTERM.
type Ladder struct {
	First     syscall.Signal `json:"first,omitempty"`
	Grace     time.Duration  `json:"grace_ns,omitempty"`
	TermGrace time.Duration  `json:"term_grace_ns,omitempty"`
}

// Command is how a minder is made of a binary.
type Command struct {
	Path string   // empty: this binary
	Args []string // nil: Verb
	Env  []string // nil: this process's environment
}

// Cause is why a runner ended.
type Cause string

// The causes. Signaled and MinderLost are a kill that the agent did not ask for.
const (
	Exited      Cause = "exited"       // by itself; ExitCode counts
	Signaled    Cause = "signaled"     // by a signal that neither agent nor minder sent
	Deadline    Cause = "deadline"     // killed at the deadline
	Stopped     Cause = "stopped"      // after Stop; ExitCode and Signal say how
	Killed      Cause = "killed"       // by Kill
	AgentGone   Cause = "agent_gone"   // killed because the agent died, or failed just then
	StartFailed Cause = "start_failed" // it never ran; Detail says why
	MinderLost  Cause = "minder_lost"  // killed because the minder died
)

// Exit is the end of a runner.
type Exit struct {
	Cause    Cause  `json:"cause"`
	ExitCode int    `json:"exit_code"`        // -1 if it did not exit
	Signal   string `json:"signal,omitempty"` // "SIGSEGV"; empty if none ended it
	Detail   string `json:"detail,omitempty"` // for people; no arguments, no secrets

	// Lease time, comparable within one boot only, and the wall clock at the end.
	Started time.Duration `json:"started_ns"` // 0 if it never ran
	Ended   time.Duration `json:"ended_ns"`
	BootID  string        `json:"boot_id,omitempty"`
	Wall    time.Time     `json:"wall"`

	StrayKilled int      `json:"stray_killed"`     // processes that outlived the runner and were killed
	StrayLeft   int      `json:"stray_left"`       // processes that would not die: the device is not free
	Strays      []Record `json:"strays,omitempty"` // which those were, where a minder saw them: until they are dead it is not free
}

// ReadExit reads an exit file. The error is fs.ErrNotExist when no minder has finished
// there: the runner never ran, or its minder was lost.
func ReadExit(path string) (Exit, error) {
	var exit Exit
	data, err := os.ReadFile(path)
	if err != nil {
		return exit, fmt.Errorf("read exit file: %w", err)
	}
	if err := json.Unmarshal(data, &exit); err != nil {
		return exit, fmt.Errorf("read exit file: %w", err)
	}
	if exit.Cause == "" {
		return exit, errors.New("read exit file: it names no cause")
	}
	return exit, nil
}

func writeExit(path string, exit Exit) error {
	data, err := json.Marshal(exit)
	if err != nil {
		return fmt.Errorf("encode exit: %w", err)
	}
	return diskmap.Replace(path, data)
}

func (s *Spec) check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("no program to run")
	case s.Cookie == "" || strings.ContainsRune(s.Cookie, 0):
		return errors.New("no cookie to know the runner's processes by")
	case s.LogPath == "" || s.ExitPath == "":
		return errors.New("no path for the log or the exit file")
	}
	return nil
}
