package preset

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Bounds of what is kept of a stream of an instrumentation, whatever it holds.
const (
	maxLine  = 64 << 10 // of one line; the rest of a longer one is dropped
	maxValue = 32 << 10 // of one value, over all its lines
	maxKeys  = 64       // of the values that belong to one status; more are dropped
	maxTests = 50_000   // that are listed; more are counted only
	maxKept  = 16 << 20 // of what is listed; tests for which there is no room are counted only
)

// What a status code of the stream says of a test.
const (
	testStarted    = 1
	testPassed     = 0
	testError      = -1
	testFailure    = -2
	testIgnored    = -3
	testAssumption = -4 // an assumption of the test did not hold
)

// resultOK ends a stream whose instrumentation has come to its end.
const resultOK = -1

// test is one test that the stream tells of.
type test struct {
	class, name, stack string
	code               int // testStarted: its end was not seen
}

// instrumented is what the raw stream of `am instrument -r` says.
type instrumented struct {
	tests    []test
	kept     int // bytes of tests
	unlisted int // further tests that passed or not, for which there was no room
	unhappy  int // of those, the ones that did not pass
	planned  int // that the stream announced
	ended    bool
	code     int    // of the end
	crash    string // why the process of the tests ended before them
	refusal  string // why nothing was started
	aborted  bool   // the phone's system itself crashed

	begun   bool // a line of the stream was seen
	running *test
	values  map[string]*strings.Builder
	last    *strings.Builder // the value that further lines belong to, or nil
}

// readStream reads a stream with whatever stands between its lines.
func readStream(r io.Reader) (*instrumented, error) {
	s := &instrumented{values: map[string]*strings.Builder{}}
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimRight(string(line), "\r\n")
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if len(line) > 0 {
			s.line(text)
		}
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
}

func (s *instrumented) line(text string) {
	kind, rest, found := strings.Cut(text, ": ")
	if !found {
		kind, rest = strings.TrimSuffix(text, ":"), ""
	}
	switch kind {
	case "INSTRUMENTATION_STATUS", "INSTRUMENTATION_RESULT":
		s.begun = true
		key, value, _ := strings.Cut(rest, "=")
		if kind == "INSTRUMENTATION_RESULT" {
			key = "result " + key
		}
		s.set(key, value)
	case "INSTRUMENTATION_STATUS_CODE":
		s.begun, s.last = true, nil
		if code, err := strconv.Atoi(rest); err == nil {
			s.status(code)
		}
	case "INSTRUMENTATION_CODE":
		s.begun, s.last = true, nil
		code, err := strconv.Atoi(rest)
		s.ended, s.code = err == nil, code
		s.crash = s.crashed()
	case "INSTRUMENTATION_FAILED":
		s.begun, s.last, s.refusal = true, nil, rest
	case "INSTRUMENTATION_ABORTED":
		s.begun, s.last, s.aborted = true, nil, true
	default:
		if s.last != nil && s.last.Len() < maxValue {
			s.last.WriteString("\n" + text)
		}
	}
}

// set begins a value, which further lines may go on with.
func (s *instrumented) set(key, value string) {
	s.last = nil
	if _, again := s.values[key]; !again && len(s.values) == maxKeys {
		return
	}
	s.last = &strings.Builder{}
	s.last.WriteString(value)
	s.values[key] = s.last
}

// value is what was said under a key since the last status; "" when nothing was.
func (s *instrumented) value(key string) string {
	if b := s.values[key]; b != nil {
		return b.String()
	}
	return ""
}

// crashed is what the end says of a process that did not get there by itself.
func (s *instrumented) crashed() string {
	short, long := s.value("result shortMsg"), s.value("result longMsg")
	switch {
	case short != "" && long != "":
		return short + " " + long
	case short == "" && long == "" && s.code != resultOK:
		return "the instrumentation ended with code " + strconv.Itoa(s.code)
	}
	return short + long
}

// status takes a bundle of values that ends with code.
func (s *instrumented) status(code int) {
	if n, err := strconv.Atoi(s.value("numtests")); err == nil {
		s.planned = n
	}
	t := test{class: s.value("class"), name: s.value("test"), stack: s.value("stack"), code: code}
	clear(s.values)
	if t.name == "" && t.class == "" {
		return // progress of another kind
	}
	switch code {
	case testStarted:
		s.settle()
		s.running = &t
	case testPassed, testError, testFailure, testIgnored, testAssumption:
		s.running = nil
		s.keep(t)
	}
}

// settle keeps a test that began and of whose end nothing was told.
func (s *instrumented) settle() {
	if s.running != nil {
		s.keep(*s.running)
		s.running = nil
	}
}

func (s *instrumented) keep(t test) {
	if size := len(t.class) + len(t.name) + len(t.stack); len(s.tests) < maxTests && s.kept+size <= maxKept {
		s.tests, s.kept = append(s.tests, t), s.kept+size
		return
	}
	s.unlisted++
	if t.broken() {
		s.unhappy++
	}
}

// broken reports whether the test did not pass and was not left out.
func (t test) broken() bool {
	return t.code == testError || t.code == testFailure || t.code == testStarted
}

// skipped reports whether the test was left out.
func (t test) skipped() bool { return t.code == testIgnored || t.code == testAssumption }
