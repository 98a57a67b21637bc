package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func artifactPath(task string, attempt int, name string) string {
	return fmt.Sprintf("%s/%s/artifacts/%d/%s", v1.PathTasks, task, attempt, name)
}

func TestArtifactsOfEveryAttemptAreListedAndRead(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 2})
		first := host.ClaimOne(t)
		puts := func(lease, name, content string) {
			t.Helper()
			if err := host.PutArtifact(t, lease, name, content); err != nil {
				t.Errorf("put %q: %v", name, err)
			}
		}
		puts(first.LeaseID, "old.txt", "of the first")
		host.MustReport(t, v1.ReportRequest{LeaseID: first.LeaseID, Outcome: "abandoned", Condition: "ready"})
		second := host.ClaimOne(t)
		large := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB: more than any other body may have
		puts(second.LeaseID, "shot/screen 1%.png", large)
		puts(second.LeaseID, "a.html", "torn")
		puts(second.LeaseID, "a.html", "<script>")
		puts(second.LeaseID, "日本/…", "")
		host.MustReport(t, v1.ReportRequest{LeaseID: second.LeaseID, Outcome: "done"})
		puts(second.LeaseID, "a.html", "<script>") // it may arrive behind the report
		puts(first.LeaseID, "late.bin", "late")

		c := sys.Client(t)
		list, err := c.Artifacts(t.Context(), task.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []v1.Artifact{
			{Attempt: 1, Name: "late.bin", Bytes: 4, SHA256: digest("late"), ContentType: "application/octet-stream"},
			{Attempt: 1, Name: "old.txt", Bytes: 12, SHA256: digest("of the first"), ContentType: "text/plain; charset=utf-8"},
			{Attempt: 2, Name: "a.html", Bytes: 8, SHA256: digest("<script>"), ContentType: "text/html; charset=utf-8"},
			{Attempt: 2, Name: "shot/screen 1%.png", Bytes: 3 << 20, SHA256: digest(large), ContentType: "image/png"},
			{Attempt: 2, Name: "日本/…", SHA256: digest(""), ContentType: "application/octet-stream"},
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
		if list, err := c.Artifacts(t.Context(), task.ID, 2); err != nil || len(list) != 3 {
			t.Errorf("of attempt 2: %d, %v; want 3", len(list), err)
		}
		for _, a := range list {
			body, err := c.Artifact(t.Context(), task.ID, a.Attempt, a.Name)
			if err != nil {
				t.Fatalf("read %q: %v", a.Name, err)
			}
			got, err := io.ReadAll(body)
			if err = errors.Join(err, body.Close()); err != nil || digest(string(got)) != a.SHA256 {
				t.Errorf("%q: %d bytes, %v", a.Name, len(got), err)
			}
		}
	})
}

func TestAnArtifactIsToBeSavedAndReadInParts(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		const page = "<script>alert(1)</script>"
		if err := host.PutArtifact(t, a.LeaseID, `dir/ü "q".html`, page); err != nil {
			t.Fatal(err)
		}
		path := artifactPath(task.ID, 1, "dir/%C3%BC%20%22q%22.html")
		status, header, body := sys.Fetch(t, path, nil)
		if status != http.StatusOK || body != page {
			t.Errorf("whole: %d %q", status, body)
		}
		disposition, params, err := mime.ParseMediaType(header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || params["filename"] != `ü "q".html` {
			t.Errorf("Content-Disposition %q: %v", header.Get("Content-Disposition"), err)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8", "ETag": `"` + digest(page) + `"`,
			"Accept-Ranges": "bytes", "Content-Security-Policy": "sandbox; default-src 'none'",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if status, header, body := sys.Fetch(t, path, http.Header{"Range": {"bytes=8-12"}}); status != http.StatusPartialContent ||
			body != "alert" || header.Get("Content-Range") != "bytes 8-12/25" {
			t.Errorf("a part: %d %q %s", status, body, header.Get("Content-Range"))
		}
		if status, _, _ := sys.Fetch(t, path, http.Header{"Range": {"bytes=99-"}}); status != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("a part behind the end: %d", status)
		}
		if status, _, body := sys.Fetch(t, path, http.Header{"If-None-Match": {`"` + digest(page) + `"`}}); status != http.StatusNotModified || body != "" {
			t.Errorf("what the caller has: %d %q", status, body)
		}
	})
}

func TestArtifactsThatAreRefused(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host, other := sys.Host(t, "h1", servertest.Phone("p1")), sys.Host(t, "h2")
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		wants := func(what string, err error, code, detail string) {
			t.Helper()
			e, ok := errors.AsType[*phonebooth.Error](err)
			if !ok || e.Code != code || !strings.Contains(e.Message+fmt.Sprint(e.Detail), detail) {
				t.Errorf("%s: %v, want %s with %q", what, err, code, detail)
			}
		}
		wants("another host's lease", other.PutArtifact(t, a.LeaseID, "a", "x"), "lease_unknown", "")
		wants("no lease", host.PutArtifact(t, "lease_none", "a", "x"), "lease_unknown", "")
		agent := host.Agent(t)
		wants("other bytes", agent.PutArtifact(t.Context(), a.LeaseID, "a", 1, digest("y"), strings.NewReader("x")), "invalid", "SHA-256")
		wants("no digest", agent.PutArtifact(t.Context(), a.LeaseID, "a", 1, "", strings.NewReader("x")), "invalid", "sha256")
		wants("a huge file", agent.PutArtifact(t.Context(), a.LeaseID, "a", 1<<30+1, digest(""), endless{}), "too_large", "1073741824")
		wants("a file that shrinks", agent.PutArtifact(t.Context(), a.LeaseID, "a", 9, digest("x"), strings.NewReader("x")), "invalid", "changed")
		for _, name := range []string{"a\nb", "a\x7f", strings.Repeat("x", 256), strings.Repeat("y/", 256) + "y"} {
			wants("the name "+name, host.PutArtifact(t, a.LeaseID, name, "x"), "invalid", "512")
		}
		for _, name := range []string{"", "/", "a/", "/a", "a//b", "..", "../a", "a/%2e%2e/b", "./a", "%2e"} {
			status, p := sys.RawAs(t, host.Token(), "PUT", v1.PathAgentLeases+"/"+a.LeaseID+"/artifacts/"+name+"?sha256="+digest("x"), "x")
			if status != 422 || p.Code != "invalid" || !strings.Contains(p.Detail, "512") {
				t.Errorf("the name %q: %d %s: %s", name, status, p.Code, p.Detail)
			}
		}
		if status, p := sys.Raw(t, "PUT", v1.PathAgentLeases+"/"+a.LeaseID+"/artifacts/a?sha256="+digest("x"), "x"); status != 403 || p.Code != "forbidden" {
			t.Errorf("with the admin's token: %d %s", status, p.Code)
		}
		for path, code := range map[string]string{
			artifactPath(task.ID, 1, "a"): "artifact_unknown", artifactPath(task.ID, 1, "a%0Ab"): "artifact_unknown",
			artifactPath(task.ID, 2, "a"): "attempt_unknown", artifactPath("task_none", 1, "a"): "task_unknown",
			artifactPath(task.ID, 0, "a"): "invalid", artifactPath(task.ID, 1, "../../../1.runner/@000000000000"): "invalid",
			v1.PathTasks + "/" + task.ID + "/artifacts?attempt=2": "attempt_unknown", v1.PathTasks + "/task_none/artifacts": "task_unknown",
		} {
			if _, p := sys.Raw(t, "GET", path, ""); p.Code != code {
				t.Errorf("GET %s: %s, want %s", path, p.Code, code)
			}
		}
		if list, err := sys.Client(t).Artifacts(t.Context(), task.ID, 0); err != nil || len(list) != 0 {
			t.Errorf("listed: %v, %v", list, err)
		}
	})
}

// endless has bytes for any size.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{0}, len(p))), nil }
