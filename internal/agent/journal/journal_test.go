package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
)

func reopen(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return j
}

func TestTheNextLifeKnowsWhatWasOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agent", "journal")
	j := reopen(t, dir)
	second := journal.Entry{
		LeaseID: "lease_2", TaskID: "task_2", Attempt: 3, DeviceID: "device_2",
		Assignment: json.RawMessage(`{"goal":"open \u003cSettings\u003e"}`),
		Cookie:     "cookie", WorkDir: "/tmp/w", Phase: "accepted",
	}
	for _, e := range []journal.Entry{second, {LeaseID: "lease_1"}, {LeaseID: "lease_3"}} {
		if err := j.Put(e); err != nil {
			t.Fatalf("Put: %v", err)
		}
	}
	if err := j.Update("lease_2", func(e *journal.Entry) {
		e.MinderPID, e.MinderStart, e.BootID, e.Phase = 42, 1<<63, "boot", "running"
	}); err != nil {
		t.Fatalf("Update: %v", err)
	}
	if err := j.Remove("lease_3"); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	second.MinderPID, second.MinderStart, second.BootID, second.Phase = 42, 1<<63, "boot", "running"
	want := []journal.Entry{{LeaseID: "lease_1"}, second}
	for name, life := range map[string]*journal.Journal{"this": j, "next": reopen(t, dir)} {
		if diff := cmp.Diff(want, life.Entries()); diff != "" {
			t.Errorf("%s life (-want +got):\n%s", name, diff)
		}
	}
}

func TestALeaseThatIsNotOpenCannotBeUpdated(t *testing.T) {
	t.Parallel()
	j := reopen(t, t.TempDir())
	if err := j.Update("lease_1", func(*journal.Entry) {}); !errors.Is(err, diskmap.ErrAbsent) {
		t.Errorf("Update: %v, want ErrAbsent", err)
	}
	if err := j.Remove("lease_1"); err != nil {
		t.Errorf("Remove: %v, want nil", err)
	}
}

func TestATornEntryIsToldOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := reopen(t, dir).Put(journal.Entry{LeaseID: "lease_1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "lease_1.json"), 10); err != nil {
		t.Fatal(err)
	}
	j := reopen(t, dir)
	if bad := j.Quarantined(); len(bad) != 1 || bad[0].Key != "lease_1" || len(j.Entries()) != 0 {
		t.Errorf("Quarantined = %+v, Entries = %+v; want the one lease told of as damaged", bad, j.Entries())
	}
}
