package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/phonebooth-dev/phonebooth/internal/agent/artifact"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// What an attempt has on the disk, in a directory of its own: its logs, and a directory for each step.
func logPath(dir string) string    { return filepath.Join(dir, "log") }
func devicePath(dir string) string { return filepath.Join(dir, "device.log") }
func eventsPath(dir string) string { return filepath.Join(dir, "events.log") }

// ownerPath is the file that says whose all this is. The directory is there as long as something of it may have to be sent,
// which is longer than the journal remembers the lease and the spool its report.
func ownerPath(dir string) string { return filepath.Join(dir, "lease") }

// furnish makes the directory of a lease, and writes down whose it is.
func (l *lease) furnish() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(ownerPath(l.dir), []byte(l.LeaseID), 0o600)
}

// stepFiles is the directory of one step of an attempt. Step 0 is a whole task.
type stepFiles string

func stepOf(dir string, w runner.Work) stepFiles {
	return stepFiles(filepath.Join(dir, fmt.Sprintf("step-%d.%d", w.Step, w.Try)))
}

// stepsIn lists the steps that were begun.
func stepsIn(dir string) (steps []stepFiles) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil // it had not come so far
	}
	for _, entry := range found {
		if strings.HasPrefix(entry.Name(), "step-") {
			steps = append(steps, stepFiles(filepath.Join(dir, entry.Name())))
		}
	}
	return steps
}

func (s stepFiles) in(name string) string { return filepath.Join(string(s), name) }
func (s stepFiles) place() runner.Place   { return runner.PlaceAt(s.in("place")) }
func (s stepFiles) exit() string          { return s.in("exit.json") }

// beginning is what is written down of a program's start, and then of its end, for an agent that finds it ended.
type beginning struct {
	Runner string `json:"runner"`
	Label  string `json:"label,omitempty"` // of the step; "" for a whole task
	Log    int64  `json:"log"`             // how long the attempt's log was
	File   spot   `json:"file"`            // where the log's file ended
	End    *int64 `json:"end,omitempty"`   // how long it was when the program had ended
}

func (s stepFiles) write(b beginning) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return os.WriteFile(s.in("begun.json"), text, 0o600)
}

// begun reads what write has written.
func (s stepFiles) begun() (b beginning, err error) {
	text, err := os.ReadFile(s.in("begun.json"))
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(text, &b)
}

// ended is the end of what began so. log is how long the attempt's log was then.
func (b beginning) ended(report runner.Ended, exit minder.Exit, log int64) runner.Ended {
	report.Log = runner.Section{Offset: b.Log, Bytes: max(log-b.Log, 0)}
	report.Took = max(exit.Ended-exit.Started, 0)
	return report
}

// keep writes down which artifacts there are, so that the next life sends what this one did not.
func (s stepFiles) keep(files []artifact.File) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return os.WriteFile(s.in("artifacts.json"), text, 0o600)
}

// kept reads what keep has written. ok is false when it did not come to that.
func (s stepFiles) kept() (files []artifact.File, ok bool) {
	text, err := os.ReadFile(s.in("artifacts.json"))
	return files, err == nil && json.Unmarshal(text, &files) == nil
}
