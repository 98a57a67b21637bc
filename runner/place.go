package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Place is a program's working directory and the files of the contract in it.
type Place struct {
	Dir       string
	Input     string
	Result    string
	Events    string
	Outputs   string
	Artifacts string // a directory
}

// PlaceAt names the files of the contract in dir, whether they exist or not.
func PlaceAt(dir string) Place {
	return Place{
		Dir: dir, Input: filepath.Join(dir, "input.json"), Result: filepath.Join(dir, "result.json"),
		Events: filepath.Join(dir, "events.ndjson"), Outputs: filepath.Join(dir, "outputs"), Artifacts: filepath.Join(dir, "artifacts"),
	}
}

// Input is what PHONEBOOTH_INPUT holds.
type Input struct {
	TaskID     string            `json:"task_id"`
	Attempt    int               `json:"attempt"`
	Step       int               `json:"step,omitempty"`
	Steps      int               `json:"steps,omitempty"`
	StepID     string            `json:"step_id,omitempty"`
	Try        int               `json:"try,omitempty"`
	Goal       string            `json:"goal"`
	With       map[string]string `json:"with,omitempty"`
	Inputs     json.RawMessage   `json:"inputs,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	DeviceID   string            `json:"device_id"`
	DriverType string            `json:"driver_type"`
	Serial     string            `json:"serial"`
	Deadline   *time.Time        `json:"deadline,omitempty"`
	PortBase   int               `json:"port_base"`
}

// Prepare makes dir, which must not exist, the working directory for w: only this user can enter it, and it holds the
// input file and an empty directory for artifacts.
func Prepare(dir string, w Work) (Place, error) {
	p := PlaceAt(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return p, fmt.Errorf("make the working directory: %w", err)
	}
	for _, d := range []string{dir, p.Artifacts} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return p, fmt.Errorf("make the working directory: %w", err)
		}
	}
	in := Input{
		TaskID: string(w.TaskID), Attempt: w.Attempt, Step: w.Step, Steps: w.Steps, StepID: w.StepID, Try: w.Try,
		Goal: w.Goal, With: w.With, Inputs: w.Inputs, Labels: w.Labels,
		DeviceID: string(w.DeviceID), DriverType: w.DriverType, Serial: w.Serial, PortBase: w.PortBase,
	}
	if !w.Deadline.IsZero() {
		at := w.Deadline.UTC()
		in.Deadline = &at
	}
	text, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return p, fmt.Errorf("encode the input: %w", err)
	}
	if err := os.WriteFile(p.Input, append(text, '\n'), 0o600); err != nil {
		return p, fmt.Errorf("write the input: %w", err)
	}
	return p, nil
}
