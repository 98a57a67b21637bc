package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/phonebooth-dev/phonebooth"
)

// Limits of what a program may say. A longer message is cut; a longer result is no valid one.
const (
	MaxResultBytes  = 512 << 10
	MaxMessageBytes = 4096
)

// Result is what a program may leave in PHONEBOOTH_RESULT.
type Result struct {
	Outcome string          `json:"outcome"`           // done, failed, or abandoned to be tried again
	Code    string          `json:"code,omitempty"`    // of a failure; runner_failed when left out
	Message string          `json:"message,omitempty"` // for people
	Result  json.RawMessage `json:"result,omitempty"`  // any JSON, kept with the task

	Outputs map[string]string `json:"outputs,omitempty"` // for later steps of a workflow, see [ReadOutputs]
}

// ReadResult reads the result that a program left at path. Without one it returns nil and no error. An error means that
// something is there that is not a valid result: then it counts as none, and the error says why.
func ReadResult(path string) (*phonebooth.Report, error) {
	text, err := readLeft(path, "the result", MaxResultBytes)
	if text == nil || err != nil {
		return nil, err
	}
	_, report, err := parseResult(text)
	return report, err
}

// readLeft reads a file that a program left: nil when there is none. what is its name in errors, which hold nothing of its
// content.
func readLeft(path, what string, limit int64) ([]byte, error) {
	// A program could leave a pipe, or a link to what it should not show.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New(what + " is a symbolic link")
	}
	if err != nil {
		return nil, errors.New(what + " cannot be opened")
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New(what + " is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, errors.New(what + " cannot be read")
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("%s is longer than %d bytes", what, limit)
	}
	return text, nil
}

func parseResult(text []byte) (Result, *phonebooth.Report, error) {
	var r Result
	report, err := r.read(text)
	return r, report, err
}

func (r *Result) read(text []byte) (*phonebooth.Report, error) {
	if err := json.Unmarshal(text, r); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if wrong.Field == "" {
				return nil, errors.New("the result is not of the contract's shape: it must be an object with outcome, and code, message, result and outputs as needed")
			}
			return nil, fmt.Errorf("the result is not of the contract's shape: %s must be %s", wrong.Field, inJSON(wrong.Type.Kind()))
		}
		return nil, errors.New("the result is not JSON")
	}
	if err := validOutputs(r.Outputs); err != nil {
		return nil, fmt.Errorf("the result's outputs: %w", err)
	}
	if bytes.Contains(r.Result, []byte(`\u0000`)) {
		return nil, errors.New("the result holds a NUL")
	}
	report := phonebooth.Report{
		Outcome: phonebooth.Outcome(r.Outcome), Result: r.Result,
		Failure: phonebooth.Failure{Code: r.Code, Message: Clean(r.Message, MaxMessageBytes)},
	}
	if r.Code != "" && !phonebooth.ValidName(r.Code) {
		return nil, errors.New("the result's code must be 1 to 63 letters, digits, dots, underscores and hyphens")
	}
	switch report.Outcome {
	case phonebooth.OutcomeDone:
	case phonebooth.OutcomeFailed:
		if r.Code == "" {
			report.Failure.Code = "runner_failed"
		}
	case phonebooth.OutcomeAbandoned:
		if r.Code != "device_lost" {
			report.Failure.Code = "try_again"
		}
	default:
		return nil, errors.New("the result's outcome must be done, failed or abandoned")
	}
	return &report, nil
}

// inJSON is what JSON calls a value of a kind.
func inJSON(kind reflect.Kind) string {
	if kind == reflect.Map {
		return "an object"
	}
	return "a string"
}

// Clean is s as a database, a terminal and a wire can carry it: valid UTF-8 without NUL, at most limit bytes.
func Clean(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
