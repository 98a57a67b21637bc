package tail_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/internal/agent/tail"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func options(t *testing.T) tail.Options {
	dir := t.TempDir()
	return tail.Options{Path: filepath.Join(dir, "events.ndjson"), Log: filepath.Join(dir, "log"), State: filepath.Join(dir, "state"), Max: 64 << 20}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// logged is the events in the log, without their times, which are checked.
func logged(t *testing.T, o tail.Options) string {
	t.Helper()
	text, _ := os.ReadFile(o.Log)
	var all []string
	for line := range strings.Lines(string(text)) {
		var e runner.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || time.Since(e.Time).Abs() > time.Minute {
			t.Fatalf("line %q: %v, want an event with a time", line, err)
		}
		all = append(all, strings.TrimSpace(strings.Join([]string{e.Step, e.Type, e.Name, e.Message}, " ")))
	}
	return strings.Join(all, "; ")
}

func event(name string) string { return fmt.Sprintf(`{"type":"step","name":%q}`+"\n", name) }

func finish(t *testing.T, o tail.Options) string {
	t.Helper()
	note, err := tail.New(o).Finish()
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func TestEventsAreTakenInAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Step = "shot"
	events := tail.New(o)
	if err := events.Read(); err != nil {
		t.Errorf("before there are any: %v", err)
	}
	write(t, o.Path, event("one")+`{"type":"step",`)
	if err := events.Read(); err != nil || logged(t, o) != "shot step one" {
		t.Errorf("log = %q (%v), want what is whole", logged(t, o), err)
	}
	write(t, o.Path, `"name":"two"}`+"\r\n\n"+`{"type":"heartbeat"}`) // the last line has no end
	if err := events.Read(); err != nil || logged(t, o) != "shot step one; shot step two" {
		t.Errorf("log = %q (%v), want what is whole", logged(t, o), err)
	}
	// The next life goes on.
	if note := finish(t, o); note != "" || logged(t, o) != "shot step one; shot step two; shot heartbeat" {
		t.Errorf("log = %q, note %q, want all, each once", logged(t, o), note)
	}
	if note := finish(t, o); note != "" || strings.Count(logged(t, o), "heartbeat") != 1 {
		t.Errorf("log = %q, note %q, want nothing twice", logged(t, o), note)
	}
}

func TestC37_LinesThatAreNoEventsAreDroppedWithOneNote(t *testing.T) {
	t.Parallel()
	o := options(t)
	write(t, o.Path, event("one")+"secret no JSON\n"+strings.Repeat("x", 10<<20)+"\n"+"\x00\xff\n"+event("two")+strings.Repeat("y", 70<<10))
	note := finish(t, o)
	if want := "lines of the events that were dropped: 4; the first one was line 2: it is not a JSON object of an event's shape"; note != want {
		t.Errorf("note = %q, want %q", note, want)
	}
	if got := logged(t, o); got != "step one; step two" {
		t.Errorf("log = %q, want the two events", got)
	}
	if text, err := os.ReadFile(o.State); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("state = %s, %v", text, err)
	}
}

func TestC41_EventsHoldNoSecret(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Mask = mask.New(`hun"ter2`)
	write(t, o.Path, `{"type":"step","name":"log in with hun\u0022ter2","message":"hun\"ter2"}`+"\n"+`{"type":"cost","amount":1,"model":"hun\"ter2"}`+"\n")
	if note := finish(t, o); note != "" {
		t.Error(note)
	}
	text, err := os.ReadFile(o.Log)
	if err != nil || strings.Contains(string(text), "ter2") || strings.Count(string(text), "********") != 3 {
		t.Errorf("log = %s, %v, want the secret hidden three times", text, err)
	}
}

func TestAnEventsFileThatIsNoneDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink("/etc/passwd", path) },
		"dir":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		o := options(t)
		if err := set(o.Path); err != nil {
			t.Fatal(err)
		}
		if note := finish(t, o); !strings.Contains(note, "no regular file") || logged(t, o) != "" {
			t.Errorf("%s: note %q, log %q", name, note, logged(t, o))
		}
	}
	o := options(t)
	write(t, o.Path, event("one"))
	events := tail.New(o)
	if err := events.Read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(o.Path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, o.Path, `{"type":"heartbeat"}`+"\n")
	if _, err := events.Finish(); err != nil || logged(t, o) != "step one; heartbeat" {
		t.Errorf("log = %q (%v), want what came after the file was emptied", logged(t, o), err)
	}
}

// A program that writes faster than its events are read must not keep its host from looking at its limits.
func TestAFloodOfEventsIsReadInBoundedTurnsAndCountsAsFarAsItMay(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Max = 8 << 20
	write(t, o.Path, event("first")+strings.Repeat("y\n", 8<<20))
	events := tail.New(o)
	if err := events.Read(); err != nil {
		t.Fatal(err)
	}
	if got := logged(t, o); got != "step first" {
		t.Errorf("events = %q, want the first", got)
	}
	text, err := os.ReadFile(o.State)
	var state struct{ At int64 }
	if err != nil || json.Unmarshal(text, &state) != nil || state.At >= o.Max || events.Bytes() <= o.Max {
		t.Errorf("one turn read %d of %d bytes, %v; want a part, and that all are counted", state.At, events.Bytes(), err)
	}
	write(t, o.Path, event("behind the limit"))
	note, err := events.Finish()
	if err != nil || note != "events behind the first 8388608 bytes were dropped" || logged(t, o) != "step first" {
		t.Errorf("in the end %q, %v with %q, want what is behind the limit dropped", note, err, logged(t, o))
	}
}
