// Package taskfile reads files of tasks: a batch as people write it.
//
//	defaults:                       # for what a task leaves out
//	  constraints: {driver_type: android}
//	  labels: {suite: nightly}
//	tasks:
//	  - goal: open Settings and turn on dark mode
//	  - workflow: {name: login, inputs: {user: ada}}
//	    timeout_s: 600
//
// The fields of a task are those of the API, package v1's TaskRequest, and no others. Such a file is YAML or JSON; a list of
// tasks alone is one too, and so are JSON Lines, a task a line. Of mappings in defaults and in a task the fields are merged;
// anything else a task has replaces the default.
//
// All that is wrong with a file is said, each mistake with its line and column. Nothing here knows a server: workflows, runners
// and devices that do not exist are for it to refuse, at a pointer that [File.Locate] finds in the file again.
//
// A File is read only once made, and may be used by any number of goroutines.
package taskfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// MaxBytes is how long a file may be.
const MaxBytes = 16 << 20

// File is a file of tasks without mistakes that can be found without a server.
type File struct {
	Tasks  []v1.TaskRequest
	places places
}

// Read reads a file; lines says that it holds JSON Lines even if it does not look so. With problems there is no file. Each
// problem has the code invalid, and line and column, from 1, as details; one that is a task's has its index, from 0.
func Read(text string, lines bool) (File, []*phonebooth.Error) {
	r := &reader{text: text, places: places{}}
	root := r.document(lines)
	if len(r.problems) > 0 {
		return File{}, r.problems
	}
	tasks := r.tasks(root)
	if len(r.problems) > 0 {
		return File{}, r.problems
	}
	return File{Tasks: tasks, places: r.places}, nil
}

// Locate adds line and column to a refusal of the batch, whose detail pointer names a place in it.
func (f File) Locate(e *phonebooth.Error) *phonebooth.Error {
	return f.places.locate(e, e.Detail["pointer"])
}

// place is where something stands, from 1.
type place struct{ line, column int }

// places are where the values of a document stand, by JSON pointer.
type places map[string]place

// locate adds line and column of what pointer names, or of what is nearest above it. What no task has may be of the defaults.
func (p places) locate(e *phonebooth.Error, pointer string) *phonebooth.Error {
	at, ok := p[pointer]
	if !ok {
		if rest, isTask := strings.CutPrefix(pointer, "/tasks/"); isTask {
			_, field, _ := strings.Cut(rest, "/")
			at, ok = p["/defaults/"+field]
		}
	}
	for !ok && pointer != "" {
		pointer = pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
		at, ok = p[pointer]
	}
	if !ok {
		at = place{1, 1}
	}
	return e.With("line", strconv.Itoa(at.line)).With("column", strconv.Itoa(at.column))
}

// reader collects what is wrong with a text.
type reader struct {
	text     string
	places   places
	problems []*phonebooth.Error
}

// wrong notes a mistake in the value that pointer names.
func (r *reader) wrong(pointer, format string, args ...any) {
	r.refused(pointer, phonebooth.Errorf(phonebooth.Invalid, "invalid", format, args...))
}

func (r *reader) refused(pointer string, e *phonebooth.Error) {
	if rest, isTask := strings.CutPrefix(pointer, "/tasks/"); isTask {
		index, _, _ := strings.Cut(rest, "/")
		e = e.With("index", index)
	}
	r.problems = append(r.problems, r.places.locate(e.With("pointer", pointer), pointer))
}

// wrongAt notes a mistake at a place.
func (r *reader) wrongAt(at place, format string, args ...any) {
	e := phonebooth.Errorf(phonebooth.Invalid, "invalid", format, args...)
	r.problems = append(r.problems, e.With("line", strconv.Itoa(at.line)).With("column", strconv.Itoa(at.column)))
}

// document is the text as a value, with its places noted.
func (r *reader) document(lines bool) any {
	switch text := r.text; {
	case len(text) > MaxBytes:
		r.wrongAt(place{1, 1}, "the file is longer than %d bytes", MaxBytes)
	case !utf8.ValidString(text):
		r.wrongAt(placeOf(text, firstBroken(text)), "the text is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		r.wrongAt(placeOf(text, strings.IndexByte(text, 0)), "the text holds a NUL byte")
	case strings.TrimSpace(text) == "":
		r.wrongAt(place{1, 1}, "there are no tasks in it")
	case lines:
		return r.jsonLines()
	case json.Valid([]byte(text)):
		return r.json()
	case looksLikeLines(text):
		return r.jsonLines()
	default:
		return r.yaml()
	}
	return nil
}

// tasks makes the requests of a document.
func (r *reader) tasks(root any) []v1.TaskRequest {
	if list, ok := root.([]any); ok {
		r.places = r.places.below("/tasks")
		root = map[string]any{"tasks": list}
	}
	fields, ok := root.(map[string]any)
	if !ok {
		r.wrong("", "a file of tasks is a list of tasks, or has the fields tasks and defaults")
		return nil
	}
	r.shape(fileShape, root, "")
	if len(r.problems) > 0 {
		return nil
	}
	list, _ := fields["tasks"].([]any)
	switch {
	case len(list) == 0:
		r.wrong("/tasks", "there are no tasks in it")
		return nil
	case len(list) > phonebooth.MaxBatchTasks:
		r.wrong("/tasks/"+strconv.Itoa(phonebooth.MaxBatchTasks), "a batch holds at most %d tasks, and this has %d; submit it in parts",
			phonebooth.MaxBatchTasks, len(list))
		return nil
	}
	tasks := make([]v1.TaskRequest, len(list))
	for i, item := range list {
		tasks[i] = r.task(fmt.Sprint("/tasks/", i), merged(fields["defaults"], item))
	}
	return tasks
}

// task makes a request of a value that has the right shape.
func (r *reader) task(pointer string, value any) (req v1.TaskRequest) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &req)
	}
	if err != nil { // such as a number of the inputs that JSON does not know
		r.wrong(pointer, "the task cannot be written as JSON")
		return req
	}
	if _, err := req.Checked(); err != nil {
		refusal, _ := errors.AsType[*phonebooth.Error](err)
		r.refused(pointer+refusal.Detail["pointer"], refusal)
	}
	return req
}

// merged is a task with the defaults for what it leaves out.
func merged(defaults, task any) any {
	under, ok1 := defaults.(map[string]any)
	over, ok2 := task.(map[string]any)
	if !ok1 || !ok2 {
		return task
	}
	all := maps.Clone(under)
	for name, value := range over {
		if _, both := under[name]; both {
			value = merged(under[name], value)
		}
		all[name] = value
	}
	return all
}

// below are the places of a document that becomes a part of another.
func (p places) below(pointer string) places {
	moved := places{"": p[""]}
	for at, where := range p {
		moved[pointer+at] = where
	}
	return moved
}

// firstBroken is where the first byte is that is no UTF-8.
func firstBroken(text string) int {
	for i, c := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

func placeOf(text string, at int) place {
	before := text[:min(max(at, 0), len(text))]
	return place{
		line:   strings.Count(before, "\n") + 1,
		column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
	}
}
