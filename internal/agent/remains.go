package agent

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/phonebooth-dev/phonebooth/internal/agent/artifact"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/agent/tail"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// remains are what a program left, and what is wrong with that.
type remains struct {
	evidence runner.Evidence
	outputs  map[string]string
	notes    []string // for people: they go into the attempt's log
}

func (r *remains) note(err error) {
	if err != nil {
		r.notes = append(r.notes, err.Error())
	}
}

// read is what an exit and the files around it say. did is what the agent had done; it counts only when the program had not
// ended by itself before. log is what the program wrote, or nil.
func (a *Agent) read(did runner.Did, exit minder.Exit, place runner.Place, r runner.Runner, log *section) remains {
	defer log.close()
	left := remains{evidence: runner.Evidence{Exit: runner.Exit{Code: exit.ExitCode, Signal: exit.Signal}}}
	e := &left.evidence
	switch exit.Cause {
	case minder.Exited:
	case minder.StartFailed:
		e.NotStarted = exit.Detail
		return left
	case minder.Signaled, minder.MinderLost:
		e.Exit.Signal, e.Did = cmp.Or(exit.Signal, "SIGKILL"), did
	case minder.AgentGone:
		e.Did = cmp.Or(did, runner.Restarted)
	default: // at the deadline, stopped or killed
		e.Did = cmp.Or(did, runner.Fenced)
	}
	result, err := runner.ReadResult(place.Result)
	if err != nil {
		err = fmt.Errorf("the result does not count: %w", err)
	}
	left.note(err)
	e.Result = result
	left.outputs, err = runner.ReadOutputs(place)
	left.note(err)
	for name, value := range left.outputs {
		left.outputs[name] = a.mask.Text(value)
	}
	if parsed, ok := r.Parse(runner.End{Exit: e.Exit, Place: place, Log: log.reader()}); ok {
		e.Parsed = &parsed
	}
	return left
}

// eventsOf follows the events of a step.
func (a *Agent) eventsOf(l *lease, files stepFiles, label string) *tail.Events {
	return tail.New(tail.Options{
		Max:  maxEvents,
		Path: files.place().Events, Log: eventsPath(l.dir), State: files.in("events.json"), Step: label, Mask: a.mask,
	})
}

// gather takes in what is to be sent of a step whose program has ended: the rest of its events, and its artifacts. It returns
// what was wrong with them. Doing it twice is doing it once.
func (a *Agent) gather(l *lease, files stepFiles, begun beginning, chosen runner.Registration, events *tail.Events) (notes []string, found []artifact.File) {
	if found, ok := files.kept(); ok {
		return nil, slices.DeleteFunc(found, func(f artifact.File) bool { return artifact.Sent(files.place().Dir, f) })
	}
	note, err := events.Finish()
	if err != nil {
		a.noRoom("events", err)
	}
	if note != "" {
		notes = append(notes, note)
	}
	place := files.place()
	found, refused := artifact.Collect(place.Dir, artifact.Rules{
		Prefix: begun.Label, Keep: chosen.Keep, Bytes: chosen.Limits.ArtifactsBytes, Except: contractFiles(place), Hide: a.mask.Text,
	})
	for _, why := range refused {
		notes = append(notes, "artifacts: "+why)
	}
	if err := files.keep(found); err != nil {
		a.noRoom("list of artifacts", err)
	}
	return notes, found
}

// contractFiles are the files of the contract, by their names: no artifacts.
func contractFiles(p runner.Place) (names []string) {
	for _, path := range []string{p.Input, p.Result, p.Events, p.Outputs} {
		names = append(names, filepath.Base(path))
	}
	return names
}

// maxNotes is how many notes a step can leave in the log.
const maxNotes = 30

// jot writes notes into the attempt's log, a line each.
func (a *Agent) jot(l *lease, notes []string) {
	if len(notes) == 0 {
		return
	}
	path := logPath(l.dir)
	var text []byte
	if !endsLine(path) {
		text = append(text, '\n')
	}
	for _, note := range notes[:min(len(notes), maxNotes)] {
		text = fmt.Appendf(text, "[phonebooth: %s]\n", runner.Clean(note, runner.MaxMessageBytes))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.Write(text)
		_ = file.Close()
	}
	if err != nil {
		a.noRoom("note in a log", err)
	}
}

// endsLine reports whether a file is empty or ends with the end of a line.
func endsLine(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return true
	}
	p, _, err := readAt(path, info.Size()-1, 1)
	return err != nil || slices.Equal(p, []byte("\n"))
}
