package adb_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

func TestC32_AServerOfAnotherVersionIsUsedAndNeverKilled(t *testing.T) {
	t.Parallel()
	srv := adbtest.NewServer(t)
	program := filepath.Join(t.TempDir(), "adb") // of this host, newer than the server
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$*\" = version ] || exit 9\necho 'Android Debug Bridge version 1.0.77'\necho 'Version x'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log pages
	b, err := adb.New(adb.Options{
		Server: srv.Addr(), Log: slog.New(slog.NewTextHandler(&log, nil)), Adb: wire.Options{Binary: program, PollEvery: 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := bridgetest.Watch(t, b)
	serial := srv.Connect(t, simdevice.New(simdevice.Options{Serial: "PHONE1"}))
	w.Until(t, "the conflict on a ready phone", func(list []bridge.Device) bool {
		d := bridgetest.Find(list, "PHONE1")
		return d != nil && d.Condition == phonebooth.Ready && strings.HasSuffix(d.Attributes["adb_conflict"], "this host's adb program is 1.0.77")
	})
	access, err := b.Open(t.Context(), "PHONE1", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, access)
	gate := &booth{srv: srv, env: access.Env()}
	if _, conn := gate.ask(t, "host:version"); true {
		if text, err := wire.ReadBlock(conn); err != nil || text != "004d" {
			t.Errorf("the gate says that it is version %q, %v, want the program's, 004d", text, err)
		}
	}
	if d := srv.Await(t, serial, wire.StateDevice); d.TransportID == 0 {
		t.Error("the server has lost its phone")
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if got := strings.Join(log.lines, ""); strings.Count(got, "adb_conflict") != 1 {
		t.Errorf("the log says %q, want one line about the conflict", got)
	}
}

func TestWithOneVersionThereIsNoConflict(t *testing.T) {
	t.Parallel()
	o := newPhone(t)
	var text bytes.Buffer
	for name, value := range o.ready(t).Attributes {
		text.WriteString(name + "=" + value + "\n")
	}
	if strings.Contains(text.String(), "conflict") {
		t.Errorf("attributes are %s, want no conflict", &text)
	}
	b := o.open(t)
	if got := b.run(t, "", "shell", "echo hello"); got.out != "hello\n" || strings.Contains(got.err, "version") {
		t.Errorf("the real client through a gate: %+v", got)
	}
	if err := b.access.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
