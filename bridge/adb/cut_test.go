package adb_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
)

func TestALogIsFollowedThroughAGateUntilItIsCut(t *testing.T) {
	t.Parallel()
	b := oneBooth(t, bridge.Lease{})
	b.phone.Log("one")
	cmd := b.command(t, "logcat")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"one", "two"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("logcat printed %q, want %q", lines.Text(), want)
		}
		b.phone.Log("two")
	}
	b.access.Cut()
	for lines.Scan() {
	}
	_ = cmd.Wait() // adb has its own mind about what a server that leaves means
}

func TestACutIsQuick(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	br := newBridge(t, srv)
	b := booths(t, srv, br, bridgetest.Watch(t, br), bridge.Lease{}, "PHONE1")[0]
	var took time.Duration
	for range 10 { // the machine may be busy with others just then
		access, err := br.Open(t.Context(), "PHONE1", bridge.Lease{})
		if err != nil {
			t.Fatal(err)
		}
		closes(t, access)
		b.env = access.Env()
		_, conn := b.ask(t, "host:transport-any", "exec:cat")
		saysBack(t, conn, "open")
		cut := time.Now()
		access.Cut()
		ends(t, "the shell", conn)
		if took = time.Since(cut); took <= 100*time.Millisecond {
			return
		}
	}
	t.Errorf("a cut took %v, want 100 ms at most", took)
}

func TestAGateInAProcessThatWasStoppedPassesNothing(t *testing.T) {
	t.Parallel()
	var past atomic.Bool // the fence
	b := oneBooth(t, bridge.Lease{MayDrive: func() bool { return !past.Load() }})
	b.echo()
	port := strings.TrimSpace(b.run(t, "", "forward", "tcp:0", "tcp:7000").out)
	forwarded, idle := dial(t, "127.0.0.1:"+port), dial(t, "127.0.0.1:"+port)
	saysBack(t, forwarded, "before")
	saysBack(t, idle, "before")
	_, waiting := b.ask(t, "host:transport-any")
	before := len(b.phone.Commands())
	past.Store(true) // and nobody cuts
	if _, err := io.WriteString(forwarded, "after\n"); err != nil {
		t.Fatal(err)
	}
	ends(t, "the forward", forwarded)
	ends(t, "another, that said nothing", idle)
	_, _ = io.WriteString(waiting, wire.Block("shell:input tap 1 1")) // it may be cut by now
	if err := wire.ReadStatus(waiting, "shell"); err == nil {
		t.Error("a command was taken after the fence")
	}
	b.run(t, "", "shell", "input tap 1 1")
	if got := b.phone.Commands()[before:]; len(got) != 0 {
		t.Errorf("%+v ran after the fence", got)
	}
}

func TestC32_WhatComesAfterADeadServerIsNotTheLeases(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	br := newBridge(t, srv)
	b := booths(t, srv, br, bridgetest.Watch(t, br), bridge.Lease{}, "PHONE1")[0]
	_, track := b.ask(t, "host:track-devices")
	list := func() string {
		t.Helper()
		text, err := wire.ReadBlock(track)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := list(); got != b.serial+"\tdevice\n" {
		t.Errorf("track-devices says %q, want the phone", got)
	}
	srv.Kill()
	if got := list(); got != "" {
		t.Errorf("track-devices says %q when the server is dead, want nothing", got)
	}
	srv.Restart(t)
	srv.Attach(t, b.serial) // which gets the number that it had
	srv.Await(t, b.serial, wire.StateDevice)
	before := len(b.phone.Commands())
	if got := b.run(t, "", "shell", "input tap 1 1"); got.code == 0 || !strings.Contains(got.err, "not found") {
		t.Errorf("adb shell = %+v, want that the device is not there", got)
	}
	if got := b.run(t, "", "wait-for-device"); got.code == 0 {
		t.Errorf("adb wait-for-device = %+v, want a refusal: it would wait for ever", got)
	}
	for _, c := range b.phone.Commands()[before:] {
		if strings.HasPrefix(c.Line, "input") {
			t.Errorf("%q ran on a phone that the lease had lost", c.Line)
		}
	}
	if err := b.access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("Probe = %v, want ErrGone", err)
	}
}
