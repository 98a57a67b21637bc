// Package tail takes a program's events out of the file that it writes them to, and appends those that are valid to the log of
// the attempt's events, one JSON value a line, with the time at which the host read them.
//
// Where it has come to is on the disk beside the file, so that an agent that was restarted goes on from there. One that was
// killed between two writes may repeat the last events; none is lost.
//
//	t := tail.New(tail.Options{Path: place.Events, Log: log, State: state})
//	err := t.Read()            // from time to time
//	note, err := t.Finish()    // when the program has ended: the rest, and what was wrong with it
//
// It judges lines by runner.ParseEvent and sends nothing. Read and Finish are called by one goroutine at a time, Bytes by any.
package tail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/runner"
)

const (
	// readPieces is how many pieces one Read takes in at most: a program may write faster than its events are read.
	readPieces = 16
	// maxDropped is how many lines are judged that turn out to be none; the rest of a file with so many is not worth the time.
	maxDropped = 10_000
)

// piece is how much of the file is in memory at most. It holds more than one line of the greatest length.
const piece = 4 * runner.MaxEventBytes

// Options say what to follow. All paths and Max are required.
type Options struct {
	Path  string     // what the program writes
	Log   string     // what valid events are appended to
	State string     // remembers how far Path was read
	Step  string     // of a workflow, goes into each event; "": none
	Mask  *mask.Mask // hides secrets in each event
	Max   int64      // bytes of Path that count; what is behind them is dropped
}

// Events follows one file.
type Events struct {
	options Options
	state   state
	bytes   atomic.Int64
	odd     bool // the file is none that can be read
}

// state is what State holds.
type state struct {
	At       int64  `json:"at"`                 // of the next byte in the file
	Skipping bool   `json:"skipping,omitempty"` // the line that At is in is too long
	Dropped  int    `json:"dropped,omitempty"`  // lines
	Line     int    `json:"line,omitempty"`     // how many there were
	Why      string `json:"why,omitempty"`      // the first one was dropped
	First    int    `json:"first,omitempty"`    // which that was
}

// New goes on where a former life came to.
func New(options Options) *Events {
	t := &Events{options: options}
	if text, err := os.ReadFile(options.State); err == nil {
		_ = json.Unmarshal(text, &t.state) // a torn one is as good as none
	}
	t.bytes.Store(t.state.At)
	return t
}

// Bytes is how long the file was at the last look.
func (t *Events) Bytes() int64 { return t.bytes.Load() }

// Read takes in lines that are whole: all, unless there are very many.
func (t *Events) Read() error { return t.read(false) }

// Finish takes in the rest. The note says what was dropped; "" when nothing was.
func (t *Events) Finish() (note string, err error) {
	err = t.read(true)
	if t.state.Skipping {
		t.line(&t.state, nil, nil) // counts it
	}
	switch {
	case t.odd:
		note = "the events do not count: the file is no regular file"
	case t.Bytes() > t.options.Max:
		note = fmt.Sprintf("events behind the first %d bytes were dropped", t.options.Max)
	case t.state.Dropped > 0:
		note = fmt.Sprintf("lines of the events that were dropped: %d; the first one was line %d: %s", t.state.Dropped, t.state.First, t.state.Why)
	}
	return note, err
}

func (t *Events) read(last bool) error {
	file, err := os.OpenFile(t.options.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.odd = true
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if t.odd = err != nil || !info.Mode().IsRegular(); t.odd {
		return nil
	}
	if info.Size() < t.state.At { // the program has emptied it
		t.state.At, t.state.Skipping = 0, false
	}
	t.bytes.Store(info.Size())
	end := min(info.Size(), t.options.Max) // what is written from now on is for the next time
	for n := 0; t.state.At < end && (last || n < readPieces); n++ {
		more, err := t.step(file, last)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// step takes in one piece of the file. more reports whether there is another.
func (t *Events) step(file *os.File, last bool) (more bool, err error) {
	p := make([]byte, piece)
	n, err := file.ReadAt(p, t.state.At)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, errors.New("the events cannot be read")
	}
	p = p[:n]
	next := t.state
	var out bytes.Buffer
	used := 0
	for {
		end := bytes.IndexByte(p[used:], '\n')
		if end < 0 {
			break
		}
		t.line(&next, p[used:used+end], &out)
		used += end + 1
	}
	rest := p[used:]
	switch ended := n < piece; {
	case last && ended && len(rest) > 0:
		t.line(&next, rest, &out)
		used = n
	case len(rest) > runner.MaxEventBytes:
		next.Skipping, used = true, n
	}
	next.At += int64(used)
	if used == 0 {
		return false, nil
	}
	if err := t.keep(next, out.Bytes()); err != nil {
		return false, err
	}
	return n == piece, nil
}

// line takes in one line without its end.
func (t *Events) line(s *state, line []byte, out *bytes.Buffer) {
	s.Line++
	line = bytes.TrimRight(line, "\r")
	if len(line) == 0 && !s.Skipping {
		return
	}
	if s.Dropped >= maxDropped {
		s.Dropped, s.Skipping = s.Dropped+1, false
		return
	}
	e, err := runner.ParseEvent(line)
	if s.Skipping {
		err, s.Skipping = fmt.Errorf("it is longer than %d bytes", runner.MaxEventBytes), false
	}
	var text []byte
	if err == nil {
		e.Time, e.Step = time.Now().UTC().Truncate(time.Millisecond), t.options.Step
		e.Message, e.Name, e.Model = t.options.Mask.Text(e.Message), t.options.Mask.Text(e.Name), t.options.Mask.Text(e.Model)
		text, err = json.Marshal(e)
	}
	if err != nil {
		if s.Dropped++; s.Dropped == 1 {
			s.Why, s.First = err.Error(), s.Line
		}
		return
	}
	out.Write(append(text, '\n'))
}

// keep appends to the log, and then remembers that it has.
func (t *Events) keep(next state, p []byte) error {
	if len(p) > 0 {
		log, err := os.OpenFile(t.options.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("open the log of events: %w", err)
		}
		_, err = log.Write(p)
		if err := errors.Join(err, log.Close()); err != nil {
			return fmt.Errorf("write the log of events: %w", err)
		}
	}
	t.state = next
	text, err := json.Marshal(next)
	if err == nil {
		if err = os.WriteFile(t.options.State+".new", text, 0o600); err == nil {
			err = os.Rename(t.options.State+".new", t.options.State)
		}
	}
	if err != nil {
		return fmt.Errorf("remember how far the events were read: %w", err)
	}
	return nil
}
