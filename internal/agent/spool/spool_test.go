package spool_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/agent/spool"
)

func reopen(t *testing.T, dir string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func put(t *testing.T, s *spool.Spool, lease, report string) {
	t.Helper()
	if err := s.Put(lease, json.RawMessage(report)); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

// waiting is the pending leases, in order.
func waiting(s *spool.Spool) []string {
	var leases []string
	for _, r := range s.Pending() {
		leases = append(leases, r.LeaseID)
	}
	return leases
}

func TestReportsWaitInTheOrderInWhichTheyCameOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir)
	put(t, s, "lease_c", `{"outcome":"done"}`)
	put(t, s, "lease_a", `{"outcome":"failed"}`)
	s = reopen(t, dir)
	put(t, s, "lease_b", `{"outcome":"abandoned"}`)
	if diff := cmp.Diff([]string{"lease_c", "lease_a", "lease_b"}, waiting(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := string(s.Pending()[0].Body); got != `{"outcome":"done"}` {
		t.Errorf("the first report = %s, want it as it was put", got)
	}
	for range 2 { // the second time there is nothing to forget
		if err := s.Ack("lease_c"); err != nil {
			t.Fatalf("Ack: %v", err)
		}
	}
	if diff := cmp.Diff([]string{"lease_a", "lease_b"}, waiting(reopen(t, dir))); diff != "" {
		t.Errorf("after an acknowledgement and a restart (-want +got):\n%s", diff)
	}
}

func TestTheFirstReportOfALeaseStands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir)
	put(t, s, "lease_1", `{"outcome": "done", "result": "<b>"}`)
	for name, life := range map[string]*spool.Spool{"this": s, "next": reopen(t, dir)} {
		if err := life.Put("lease_1", json.RawMessage(`{"outcome":"done","result":"<b>"}`)); err != nil {
			t.Errorf("%s life: the same report again: %v, want nil", name, err)
		}
		if err := life.Put("lease_1", json.RawMessage(`{"outcome":"failed"}`)); !errors.Is(err, spool.ErrReported) {
			t.Errorf("%s life: another report: %v, want ErrReported", name, err)
		}
	}
	var body struct{ Outcome, Result string }
	if err := json.Unmarshal(s.Pending()[0].Body, &body); err != nil || body.Outcome != "done" || body.Result != "<b>" {
		t.Errorf("the report = %+v, %v; want the first", body, err)
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	t.Parallel()
	s := reopen(t, t.TempDir())
	if err := s.Put("lease_1", json.RawMessage(`{"outcome":`)); err == nil {
		t.Error("half a report was taken")
	}
	if err := s.Put("../lease", json.RawMessage(`{}`)); err == nil {
		t.Error("a lease id that is a path was taken")
	}
	if got := waiting(s); len(got) != 0 {
		t.Errorf("pending %v, want nothing", got)
	}
}

func TestManyMayReportAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir)
	var all sync.WaitGroup
	for _, lease := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			if err := s.Put(lease, json.RawMessage(`{}`)); err != nil {
				t.Errorf("Put: %v", err)
			}
		})
		all.Go(func() { s.Pending() })
	}
	all.Wait()
	if got := waiting(reopen(t, dir)); len(got) != 6 {
		t.Errorf("pending %v, want six", got)
	}
}

func TestADamagedReportIsToldOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lease_1.json"), []byte(`{"lease_id":"lease_1","rep`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := reopen(t, dir)
	if bad := s.Quarantined(); len(bad) != 1 || bad[0].Key != "lease_1" || len(s.Pending()) != 0 {
		t.Errorf("Quarantined = %+v, Pending = %+v; want the one lease told of as damaged", bad, s.Pending())
	}
}
