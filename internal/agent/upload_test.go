package agent

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// shelf takes logs, after before was called.
type shelf struct {
	Server
	log    []byte
	ends   []int64
	before func()
}

func (s *shelf) EndLog(_ context.Context, _, _ string, size int64) error {
	s.ends = append(s.ends, size)
	return nil
}

func (s *shelf) AppendLog(_ context.Context, _, _ string, offset int64, p []byte) (v1.LogAnswer, error) {
	if s.before != nil {
		s.before()
	}
	if end := offset + int64(len(p)); end > int64(len(s.log)) {
		s.log = append(s.log, p[int64(len(s.log))-offset:]...)
	}
	return v1.LogAnswer{Next: int64(len(s.log))}, nil
}

// written is a log file of which the program has the appending end, and its upload.
func written(t *testing.T, s *shelf, limit int64) (*os.File, *upload) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file, &upload{server: s, logFile: logFile{path: path, limit: limit}}
}

func drain(t *testing.T, u *upload) {
	t.Helper()
	for {
		sent, err := u.step(t.Context(), time.Minute, true)
		if err != nil {
			t.Fatal(err)
		}
		if !sent {
			return
		}
	}
}

func write(t *testing.T, file *os.File, p string) {
	t.Helper()
	if _, err := file.WriteString(p); err != nil {
		t.Fatal(err)
	}
}

func TestC37_ALogThatOutrunsItsUploadIsCutWithAMark(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	file, u := written(t, s, 1<<20)
	write(t, file, "head\n")
	drain(t, u)
	write(t, file, strings.Repeat("x", 3<<20))
	s.before = func() { // the program has written on while a chunk was on its way
		s.before = nil
		u.cut()
		write(t, file, "tail\n")
	}
	drain(t, u)
	if info, err := file.Stat(); err != nil || info.Size() > 1<<20 {
		t.Errorf("the file has %d bytes, %v; want no more than the limit", info.Size(), err)
	}
	if want := "head\n" + strings.Repeat("x", chunk) + cutMark + "tail\n"; string(s.log) != want {
		t.Errorf("the log has %d bytes, want the head, one chunk, the mark and the tail", len(s.log))
	}
}

// Nobody can tell what a program has written between the last look at a file and its end, so each end is marked.
func TestC37_ALogThatWasSentIsLetGoWithAMark(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	file, u := written(t, s, 1<<20)
	var want bytes.Buffer
	for range 10 {
		line := strings.Repeat("y", 300<<10) + "\n"
		want.WriteString(line)
		write(t, file, line)
		drain(t, u)
		u.cut()
		if info, err := file.Stat(); err != nil || info.Size() > 2<<20 {
			t.Fatalf("the file has %d bytes, %v", info.Size(), err)
		}
	}
	drain(t, u)
	if marks := strings.Count(string(s.log), cutMark); u.cuts == 0 || marks != u.cuts {
		t.Errorf("%d marks, want one for each of %d cuts", marks, u.cuts)
	}
	if log := strings.ReplaceAll(string(s.log), cutMark, ""); log != want.String() {
		t.Errorf("%d bytes arrived, want the %d that were written", len(log), want.Len())
	}
}

// What a runner reads of its program's output is kept whole, also when it is longer than a log may be, and when an earlier step
// has filled the log.
func TestC37_WhatARunnerReadsIsKeptWhole(t *testing.T) {
	t.Parallel()
	file, u := written(t, &shelf{}, 1<<20)
	write(t, file, strings.Repeat("a", 2<<20))
	u.cut()
	write(t, file, strings.Repeat("b", 900<<10))
	u.keep(2 << 20)
	begun := u.end()
	u.cut()
	want := strings.Repeat("c", 2<<20)
	write(t, file, want)
	u.cut()
	for life, log := range map[string]*section{"this": u.section(begun), "the next": sectionAt(u.path, begun)} {
		if log == nil {
			t.Errorf("in %s life there is no section, want it whole", life)
			continue
		}
		text, err := io.ReadAll(log)
		if err != nil || string(text) != want {
			t.Errorf("in %s life the section has %d bytes, %v; want the %d of the step", life, len(text), err, len(want))
		}
		log.close()
	}
	u.keep(0)
	u.cut()
	write(t, file, "more")
	if live, later := u.section(begun), sectionAt(u.path, begun); live != nil || later != nil {
		t.Errorf("sections %v and %v of what was let go, want none", live, later)
	}
}

func TestC37_ACutLogIsSentToItsEndByTheNextLife(t *testing.T) {
	t.Parallel()
	s := &shelf{log: bytes.Repeat([]byte("z"), 2<<20)} // what the former life had sent
	file, u := written(t, s, 1<<20)
	write(t, file, "what the cut file holds\n")
	drain(t, u)
	if !strings.HasSuffix(string(s.log), cutMark+"what the cut file holds\n") {
		t.Errorf("the log ends with %q, want the mark and what was left", s.log[len(s.log)-60:])
	}
}

func TestOnlyTheEndOfALogThatWasAnnouncedIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		overtakes bool // the report does
		want      []int64
	}{"the log comes first": {false, nil}, "the report comes first": {true, []int64{5}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			file, u := written(t, s, 1<<20)
			u.finished = make(chan struct{})
			close(u.finished)
			write(t, file, "lines")
			if c.overtakes && !u.follows() {
				t.Error("it is up before it was sent")
			}
			if err := u.run(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if u.follows() {
				t.Error("it is not up although everything was sent")
			}
			if string(s.log) != "lines" || !slices.Equal(s.ends, c.want) {
				t.Errorf("log %q, ends %v, want %v", s.log, s.ends, c.want)
			}
		})
	}
}
