package server_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// TestWhatRetentionRemovedIsTold asks for the log and the artifacts of a task whose bytes are gone, and of one that never had any
// artifacts.
func TestWhatRetentionRemovedIsTold(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		run := func(artifact bool) (task, lease string) {
			t.Helper()
			task = sys.Submit(t, v1.TaskRequest{Goal: "x"}).ID
			a := host.ClaimOneAs(t, "claim-"+task)
			if _, err := host.AppendLog(t, a.LeaseID, 0, "hello"); err != nil {
				t.Fatal(err)
			}
			if artifact {
				if err := host.PutArtifact(t, a.LeaseID, "a.txt", "abc"); err != nil {
					t.Fatal(err)
				}
			}
			host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", Condition: "ready"})
			return task, a.LeaseID
		}
		both, lease := run(true)
		onlyLog, _ := run(false)
		sys.Stop()
		removedAt := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		blobs, err := blob.Open(filepath.Join(sys.Data(), "logs"), blob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{both, onlyLog} {
			if err := blobs.Expire(id, removedAt); err != nil {
				t.Fatal(err)
			}
		}
		if err := blobs.Close(); err != nil {
			t.Fatal(err)
		}
		sys.Restart(t)

		for path, code := range map[string]string{
			"/" + both + "/log": "log_expired", "/" + onlyLog + "/log?attempt=1&offset=3": "log_expired", "/" + both + "/artifacts": "artifacts_expired",
			"/" + both + "/artifacts/1/a.txt": "artifacts_expired", "/" + onlyLog + "/artifacts/1/a.txt": "artifact_unknown",
			"/" + both + "/log?follow=true": "log_expired",
		} {
			status, p := sys.Raw(t, "GET", v1.PathTasks+path, "")
			gone := strings.HasSuffix(code, "_expired")
			if p.Code != code || gone && (status != 410 || p.Extra["removed_at"] != "2026-03-01T12:00:00Z" || !strings.Contains(p.Detail, "on 2026-03-01 12:00 UTC")) {
				t.Errorf("%s: %d %+v, want %s", path, status, p, code)
			}
		}
		if list, err := sys.Client(t).Artifacts(t.Context(), onlyLog, 0); err != nil || len(list) != 0 {
			t.Errorf("a task that left no artifacts: %v, %v", list, err)
		}
		if _, err := host.AppendLog(t, lease, 5, "late"); phonebooth.CodeOf(err) != "lease_lost" {
			t.Errorf("bytes that come behind the removal: %v", err)
		}
	})
}
