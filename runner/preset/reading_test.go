package preset_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// shipped is one of the presets that ship.
func shipped(t testing.TB, name string) runner.Registration {
	t.Helper()
	all, err := preset.Shipped()
	at := slices.IndexFunc(all, func(r runner.Registration) bool { return r.Name == name })
	if err != nil || at < 0 {
		t.Fatalf("preset %s: %v", name, err)
	}
	return all[at]
}

func place(t testing.TB) runner.Place {
	t.Helper()
	p := runner.PlaceAt(t.TempDir())
	if err := os.Mkdir(p.Artifacts, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// status is one status of a test in the stream.
func status(class, name, more, code string) string {
	return "INSTRUMENTATION_STATUS: class=" + class + "\nINSTRUMENTATION_STATUS: numtests=2\nINSTRUMENTATION_STATUS: test=" + name + "\n" + more +
		"INSTRUMENTATION_STATUS_CODE: " + code + "\n"
}

const theEnd = "INSTRUMENTATION_RESULT: stream=\n\nOK\n\nINSTRUMENTATION_CODE: -1\n"

// passes is a test that begins and ends well.
func passes(name string) string { return status("a.B", name, "", "1") + status("a.B", name, "", "0") }

var streams = []struct {
	name, stream  string
	exit          int
	outcome       phonebooth.Outcome
	code, message string // of the message a part
	tests, broken int
}{
	{"all pass", passes("x") + passes("y") + theEnd, 0, "done", "", "", 2, 0},
	{"one fails", passes("x") + status("a.B", "y", "", "1") + status("a.B", "y", "INSTRUMENTATION_STATUS: stack=java.lang.AssertionError: no\n\tat a.B.y(B.java:7)\n", "-2") + theEnd, 0, "failed", "runner_failed", "1 of 2 tests failed, the first is a.B#y", 2, 1},
	{"one is left out", passes("x") + status("a.B", "y", "", "1") + status("a.B", "y", "", "-3") + theEnd, 0, "done", "", "", 2, 0},
	{"the process crashes", passes("x") + status("a.B", "y", "", "1") + "INSTRUMENTATION_RESULT: shortMsg=Process crashed.\nINSTRUMENTATION_CODE: 0\n", 0, "failed", "runner_failed", "Process crashed.", 2, 1},
	{"the stream breaks off", passes("x") + status("a.B", "y", "", "1"), 0, "abandoned", "device_lost", "broke off", 2, 1},
	{"adb fails before the end", passes("x"), 1, "failed", "runner_failed", "exit code 1", 1, 0},
	{"there is no such package", "INSTRUMENTATION_STATUS: Error=Unable to find\nINSTRUMENTATION_STATUS_CODE: -1\nINSTRUMENTATION_FAILED: a.b/C\n", 1, "failed", "runner_failed", "no instrumentation a.b/C", 0, 0},
	{"no test ran", "INSTRUMENTATION_RESULT: stream=\n\nOK (0 tests)\n\nINSTRUMENTATION_CODE: -1\n", 0, "failed", "runner_failed", "no test ran", 0, 0},
	{"fewer than were announced", passes("x") + theEnd, 0, "failed", "runner_failed", "only 1 of 2 tests ran", 1, 0},
	{"nothing begins", "", 0, "abandoned", "device_lost", "did not begin", 0, 0},
	{"bytes that no XML holds", status("a.B\x01\xff", "x]]>&<", "INSTRUMENTATION_STATUS: numtests=1\n", "1") + status("a.B\x01\xff", "x]]>&<", "INSTRUMENTATION_STATUS: stack=\x00\x1b[31m\n", "-1") + theEnd, 0, "failed", "runner_failed", "1 of 1 tests failed", 1, 1},
}

func TestC37_TheStreamOfAnInstrumentationIsKeptForItsReader(t *testing.T) {
	t.Parallel()
	if !shipped(t, "instrumentation").ReadsLog {
		t.Error("nobody is told that the output is read, want it kept whole")
	}
}

func TestInstrumentationIsReadFromItsStreamNotFromItsExitCode(t *testing.T) {
	t.Parallel()
	r := shipped(t, "instrumentation").Runner
	for _, c := range streams {
		p := place(t)
		report, ok := r.Parse(runner.End{Exit: runner.Exit{Code: c.exit}, Place: p, Log: strings.NewReader(c.stream)})
		if !ok || report.Outcome != c.outcome || report.Failure.Code != c.code || !strings.Contains(report.Failure.Message, c.message) {
			t.Errorf("%s: %v %s %q: %s; want %s %q with %q", c.name, ok, report.Outcome, report.Failure.Code, report.Failure.Message, c.outcome, c.code, c.message)
		}
		if c.stream == "" {
			continue
		}
		var tally struct{ Tests, Failures, Errors int }
		if err := json.Unmarshal(report.Result, &tally); err != nil || tally.Tests != c.tests || tally.Failures+tally.Errors != c.broken {
			t.Errorf("%s: result %s, %v; want %d tests, %d of them broken", c.name, report.Result, err, c.tests, c.broken)
		}
		if got := casesIn(t, p); got != c.tests {
			t.Errorf("%s: the JUnit report has %d cases, want %d", c.name, got, c.tests)
		}
	}
	if report, ok := r.Parse(runner.End{Place: place(t)}); !ok || report.Outcome != "failed" || !strings.Contains(report.Failure.Message, "not whole") {
		t.Errorf("without the whole output: %v %+v, want failed", ok, report)
	}
}

func TestC37_WhatIsKeptOfAStreamIsBounded(t *testing.T) {
	t.Parallel()
	r := shipped(t, "instrumentation").Runner
	long := strings.Repeat(strings.Repeat("at x.y.Z\n", 100), 36) // a little less than a value may have
	const tests = 550
	var stream strings.Builder
	for i := range tests {
		stream.WriteString(status("a.B", fmt.Sprintf("t%d", i), "INSTRUMENTATION_STATUS: stack="+long, "-2"))
	}
	for i := range 100_000 {
		fmt.Fprintf(&stream, "INSTRUMENTATION_STATUS: k%d=v\n", i)
	}
	stream.WriteString("INSTRUMENTATION_CODE: -1\n")
	p := place(t)
	report, _ := r.Parse(runner.End{Place: p, Log: strings.NewReader(stream.String())})
	if want := fmt.Sprintf("%d of %d tests failed, the first is a.B#t0", tests, tests); report.Failure.Message != want {
		t.Errorf("the report says %q, want %q", report.Failure.Message, want)
	}
	info, err := os.Stat(filepath.Join(p.Artifacts, "junit.xml"))
	if err != nil || info.Size() > 25<<20 {
		t.Errorf("the JUnit report has %d bytes, %v; want those of the first tests alone", info.Size(), err)
	}
}

// casesIn counts the cases of the JUnit report, which must be XML.
func casesIn(t testing.TB, p runner.Place) (cases int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Artifacts, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return cases
		}
		if err != nil {
			t.Fatalf("junit.xml: %v:\n%q", err, text)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testcase" {
			cases++
		}
	}
}

func FuzzInstrumentation(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.stream), c.exit)
	}
	r := shipped(f, "instrumentation").Runner
	f.Fuzz(func(t *testing.T, stream []byte, exit int) {
		p := place(t)
		report, ok := r.Parse(runner.End{Exit: runner.Exit{Code: exit}, Place: p, Log: bytes.NewReader(stream)})
		if !ok {
			return
		}
		if !report.Outcome.Valid() || report.Outcome != phonebooth.OutcomeDone && report.Failure.Code == "" {
			t.Errorf("report %+v, want an outcome, and a code unless it is done", report)
		}
		if report.Outcome == phonebooth.OutcomeDone && !bytes.Contains(stream, []byte("INSTRUMENTATION_CODE")) {
			t.Error("done without an end")
		}
		if _, err := os.Stat(filepath.Join(p.Artifacts, "junit.xml")); err == nil {
			casesIn(t, p)
		}
	})
}

func TestAScreenshotIsAWholePNG(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	if err := png.Encode(&whole, image.NewRGBA(image.Rect(0, 0, 7, 9))); err != nil {
		t.Fatal(err)
	}
	good := whole.Bytes()
	r := shipped(t, "screenshot").Runner
	for name, c := range map[string]struct {
		text    []byte
		outcome phonebooth.Outcome
		says    string
	}{
		"whole":          {good, "done", ""},
		"cut":            {good[:len(good)-4], "failed", "no whole PNG"},
		"its head alone": {good[:20], "failed", "no whole PNG"},
		"empty":          {nil, "failed", "it is empty"},
		"a complaint":    {[]byte("error: closed\n"), "failed", "no whole PNG"},
	} {
		p := place(t)
		if err := os.WriteFile(filepath.Join(p.Artifacts, "screen.png"), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		report, ok := r.Parse(runner.End{Place: p})
		if !ok || report.Outcome != c.outcome || !strings.Contains(report.Failure.Message, c.says) {
			t.Errorf("%s: %v %+v, want %s with %q", name, ok, report, c.outcome, c.says)
		}
		if c.outcome == "done" && string(report.Result) != `{"pictures":[{"file":"screen.png","bytes":`+strconv.Itoa(len(good))+`,"width":7,"height":9}]}` {
			t.Errorf("result %s, want the picture and its size", report.Result)
		}
	}
	if report, _ := r.Parse(runner.End{Place: place(t)}); report.Outcome != "failed" {
		t.Errorf("without a picture: %+v, want failed", report)
	}
}
