//go:build linux

package minder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
)

func TestC03_AProgramThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, program, want string }{
		{"no such file", filepath.Join(dir, "nobody"), "does not exist"},
		{"not in PATH", "phonebooth-nobody", "is not in the runner's PATH"},
		{"not executable", file("plain", "#!/bin/sh\n", 0o640), "is not executable (mode 0640)"},
		{"a directory", dir, "is a directory"},
		{"no interpreter", file("script", "#!/no/such/shell\n", 0o755), "the interpreter that it names does not exist"},
		{"no binary", file("noise", "\x00\x01\x02", 0o755), "neither a binary of this system nor a script"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := script(t, "")
			spec.Argv = []string{c.program, "--token=hunter2"}
			m := start(t, spec)
			exit := wait(t, m, spec)
			if exit.Cause != minder.StartFailed || !strings.Contains(exit.Detail, c.want) || !strings.Contains(exit.Detail, c.program) {
				t.Errorf("exit = %+v, want start_failed naming %s, saying %q", exit, c.program, c.want)
			}
			if strings.Contains(exit.Detail, "hunter2") {
				t.Errorf("detail = %q, want no arguments in it", exit.Detail)
			}
			if saved, err := minder.ReadExit(spec.ExitPath); err != nil || saved.Cause != minder.StartFailed {
				t.Errorf("ReadExit = %+v, %v; want start_failed", saved, err)
			}
		})
	}
}

func TestNoWorkingDirectoryIsAFailedStart(t *testing.T) {
	t.Parallel()
	spec := script(t, "")
	spec.Dir = filepath.Join(spec.Dir, "gone")
	exit := wait(t, start(t, spec), spec)
	if exit.Cause != minder.StartFailed || !strings.Contains(exit.Detail, "working directory") {
		t.Errorf("exit = %+v, want start_failed for the working directory", exit)
	}
}

func TestALargeGoalIsCarriedUnharmedAndShowsInNoMinder(t *testing.T) {
	t.Parallel()
	goal := "-x '\"\n\u202e\U0001F4F1" + strings.Repeat("g", 100<<10)
	odd := "\xff\xfe not UTF-8"
	spec := script(t, `printf %s "$PHONEBOOTH_GOAL" > goal; printf %s "$ODD" > odd; printf %s "$1" > arg; sleep 1000`)
	spec.Argv = append(spec.Argv, "sh", odd)
	spec.Env = append(spec.Env, "PHONEBOOTH_GOAL="+goal, "ODD="+odd, "SECRET=hunter2", minder.CookieVar+"=another")
	m := start(t, spec)
	eventually(t, "the script wrote its argument", func() bool { return contentOf(filepath.Join(spec.Dir, "arg")) == odd })
	if got := contentOf(filepath.Join(spec.Dir, "goal")); got != goal {
		t.Errorf("the goal arrived with %d bytes, changed; want %d", len(got), len(goal))
	}
	if got := contentOf(filepath.Join(spec.Dir, "odd")); got != odd {
		t.Errorf("ODD = %q, want %q", got, odd)
	}
	for _, what := range []string{"cmdline", "environ"} {
		shown := contentOf(fmt.Sprintf("/proc/%d/%s", m.PID(), what))
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, "ggg") || strings.Contains(shown, spec.Cookie) {
			t.Errorf("the minder's %s shows what the runner was given", what)
		}
	}
}

func TestTheRunnerReadsNothingAndIsOutOfEverybodysReach(t *testing.T) {
	t.Parallel()
	spec := script(t, `cat; ls -l /proc/self/fd > fds; echo x > ready; exec sleep 1000`)
	m := start(t, spec)
	eventually(t, "cat found the end of its input", func() bool { return contentOf(filepath.Join(spec.Dir, "ready")) != "" })
	if fds := contentOf(filepath.Join(spec.Dir, "fds")); strings.Contains(fds, "pipe:") {
		t.Errorf("the runner has a pipe of the minder's:\n%s", fds)
	}
	session, err := unix.Getsid(m.PID())
	if err != nil || session != m.PID() {
		t.Errorf("the minder's session = %d, %v; want its own, %d", session, err, m.PID())
	}
	group, err := unix.Getpgid(m.Runner())
	if err != nil || group != m.Runner() {
		t.Errorf("the runner's group = %d, %v; want its own, %d", group, err, m.Runner())
	}
}

func TestWhatCannotBeWrittenDownIsNotStarted(t *testing.T) {
	t.Parallel()
	spec := script(t, `echo ran > ran`)
	refusal := errors.New("disk is full")
	var record minder.Record
	spec.Journal = func(r minder.Record) error {
		record = r
		return refusal
	}
	if _, err := minder.Start(t.Context(), spec); !errors.Is(err, refusal) {
		t.Fatalf("Start: %v, want %v", err, refusal)
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "ran")); err == nil || alive(record.PID) {
		t.Errorf("ran: %v, minder %d alive: %v; want neither", err == nil, record.PID, alive(record.PID))
	}
}

func TestTheRecordIsWrittenBeforeTheRunnerRuns(t *testing.T) {
	t.Parallel()
	spec := script(t, `echo ran > ran; exec sleep 1000`)
	spec.Journal = func(r minder.Record) error {
		if _, err := os.Stat(filepath.Join(spec.Dir, "ran")); err == nil {
			t.Error("the runner ran before its minder was written down")
		}
		if !r.Alive() || r.Cookie != spec.Cookie {
			t.Errorf("record = %+v, want a live minder and the cookie", r)
		}
		return nil
	}
	m := start(t, spec)
	r := m.Record()
	if !r.Alive() || r.PID != m.PID() {
		t.Errorf("Record() = %+v, want that of the live minder %d", r, m.PID())
	}
	if (minder.Record{PID: r.PID, Start: r.Start + 1, BootID: r.BootID}).Alive() || (minder.Record{PID: r.PID, Start: r.Start, BootID: "another boot"}).Alive() || (minder.Record{BootID: r.BootID}).Alive() {
		t.Error("Alive is true for a later process, another boot or no process; want false")
	}
	m.Kill()
	if exit := wait(t, m, spec); exit.Cause != minder.Killed {
		t.Errorf("exit = %+v, want killed", exit)
	}
	if r.Alive() {
		t.Error("Alive is true after the minder's end")
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	spec := script(t, `exec sleep 1000`)
	ctx, cancel := context.WithCancel(t.Context())
	spec.Journal = func(minder.Record) error {
		cancel()
		return nil
	}
	// Both may be ready at once: then the runner has started, and is the caller's.
	m, err := minder.Start(ctx, spec)
	if err == nil {
		m.Kill()
		wait(t, m, spec)
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v, want %v", err, context.Canceled)
	}
	if killed, err := minder.Sweep(t.Context(), spec.Cookie); killed != 0 || err != nil {
		t.Errorf("Sweep = %d, %v; want nothing left", killed, err)
	}
}

func TestASpecThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*minder.Spec){
		"no program": func(s *minder.Spec) { s.Argv = nil },
		"no cookie":  func(s *minder.Spec) { s.Cookie = "" },
		"no log":     func(s *minder.Spec) { s.LogPath = "" },
		"no binary":  func(s *minder.Spec) { s.Command.Path = "/no/such/binary" },
	} {
		spec := script(t, `exit 0`)
		spoil(&spec)
		if m, err := minder.Start(t.Context(), spec); err == nil {
			t.Errorf("%s: Start worked, want an error", name)
			m.Kill()
		}
	}
}
