package agent

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/agent/spool"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func TestADeviceIsNotCleanWhileAProcessLivesThatWouldNotDie(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, err := minder.Start(t.Context(), minder.Spec{
		Argv: []string{"sleep", "600"}, Env: os.Environ(), Dir: dir, LogPath: logPath(dir), ExitPath: filepath.Join(dir, "exit.json"),
		Cookie: "another", Deadline: boottime.Now() + time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	// As if its own minder could not have killed it; no cookie tells whose it is.
	a, l := &Agent{}, &lease{cookie: "clean-test", ran: true, strays: []minder.Record{m.Record()}}
	if err := a.cleanOnce(t.Context(), l); !errors.Is(err, minder.ErrLeft) {
		t.Errorf("cleaning beside a live process: %v, want ErrLeft", err)
	}
	m.Kill()
	if _, err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.cleanOnce(t.Context(), l); err != nil {
		t.Errorf("cleaning after its death: %v", err)
	}
}

func TestTheFirstReportOfALeaseIsTheOneThatIsSent(t *testing.T) {
	t.Parallel()
	s, err := spool.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{spool: s, log: slog.New(slog.DiscardHandler)}
	first := &parcel{lease: &lease{}, request: a.requestOf("lease_1", runner.Failed("runner_failed", "it did not"))}
	a.keep(first)
	second := &parcel{lease: &lease{}, request: a.requestOf("lease_1", runner.Restarted.Report())}
	a.keep(second)
	if second.request.Outcome != "failed" || second.request.Code != "runner_failed" || !second.kept {
		t.Errorf("to be sent: %+v, want the first report", second.request)
	}
}
