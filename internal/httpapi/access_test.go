package httpapi_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

func TestEveryCallNeedsItsToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, newScripted())
	admin := []string{
		"POST /v1/tasks", "GET /v1/tasks", "GET /v1/tasks/task_1", "GET /v1/tasks/task_1/attempts", "GET /v1/tasks/task_1/log",
		"POST /v1/tasks/task_1/cancel", "GET /v1/devices", "POST /v1/devices/d/cordon", "POST /v1/devices/d/uncordon",
		"POST /v1/devices/d/release", "GET /v1/hosts", "POST /v1/hosts/h/drain", "POST /v1/hosts/h/resume", "DELETE /v1/hosts/h",
		"PUT /v1/workflows/w", "GET /v1/workflows", "GET /v1/workflows/w", "GET /v1/events", "POST /v1/enrollments",
	}
	host := []string{
		"POST /v1/agent/incarnations", "PUT /v1/agent/inventory", "POST /v1/agent/claims", "POST /v1/agent/renewals",
		"POST /v1/agent/reports", "POST /v1/agent/leases/" + leaseID + "/log",
	}
	check := func(calls []string, status int, code, header string) {
		t.Helper()
		for _, c := range calls {
			method, path, _ := strings.Cut(c, " ")
			if a := r.ask(t, method, path, "", header); a.status != status || a.problem.Code != code {
				t.Errorf("%s with %s: got %d %s, want %d %s", c, header, a.status, a.body, status, code)
			}
		}
	}
	everything := append(append([]string{}, admin...), host...)
	check(everything, 401, "unauthenticated", "Authorization: ")
	check(everything, 401, "unauthenticated", "Authorization: Bearer pb_admin_wrong")
	check(everything, 401, "unauthenticated", "Authorization: Basic "+adminToken)
	check(admin, 403, "forbidden", asHost)
	check(host, 403, "forbidden", "Authorization: Bearer "+adminToken)

	if a := r.ask(t, "GET", "/v1/tasks", "", "Authorization: Bearer nope"); a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("got %v, want WWW-Authenticate", a.header)
	}
	if a := r.ask(t, "GET", "/v1/tasks", "", "Authorization: Bearer "+adminToken, "Authorization: Bearer "+adminToken); a.status != 401 {
		t.Errorf("two tokens: got %d", a.status)
	}
	if log := r.log.String(); strings.Contains(log, leaseID) || strings.Contains(log, adminToken) || strings.Contains(log, hostToken) {
		t.Errorf("the log holds a secret: %s", log)
	}
}

func TestATokenOfAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.renew = func([]phonebooth.LeaseID) ([]lifecycle.Renewal, error) { return nil, nil }
	r := newRig(t, f)
	body := `{"incarnation":1,"lease_ids":[]}`
	if a := r.ask(t, "POST", "/v1/agent/renewals", body, asHost, "X-Phonebooth-Host-Id: host_other"); a.status != 403 || a.problem.Code != "wrong_host" {
		t.Errorf("got %d %s, want wrong_host", a.status, a.body)
	}
	if a := r.ask(t, "POST", "/v1/agent/renewals", body, asHost, "X-Phonebooth-Host-Id: "+hostID); a.status != 200 {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestWhatNeedsNoToken(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for path, want := range map[string]string{
		"/v1/version": `{"version":"1.2.3","api":"v1","now":"`, "/healthz": "", "/readyz": "", "/metrics": "phonebooth_queue_depth 0",
		"/openapi.json": `"openapi":"3.1.0"`,
		"/llms.txt":     "wait_task until ended is true",
	} {
		a := r.ask(t, "GET", path, "", "Authorization: ")
		if a.status >= 300 || !strings.Contains(a.body, want) {
			t.Errorf("%s: got %d %s", path, a.status, a.body)
		}
	}
	f.ready = phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the database is away")
	if a := r.ask(t, "GET", "/readyz", "", "Authorization: "); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s, want 503 with Retry-After", a.status, a.body)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for sent, kept := range map[string]bool{
		"mine-1": true, "": false, strings.Repeat("x", 65): false, `"quoted"`: false, "two words": false,
	} {
		a := r.ask(t, "POST", "/v1/tasks", `{"goal":"x"}`, "X-Request-Id: "+sent)
		got := a.header.Get("X-Request-Id")
		if (got == sent) != kept || got == "" {
			t.Errorf("sent %q: got %q", sent, got)
		}
		by := f.by[len(f.by)-1]
		if by.RequestID != got || by.Actor != "admin" || by.Subject != "admin" {
			t.Errorf("sent %q: the use case was told %+v, want request %q", sent, by, got)
		}
	}
}

func TestTheLogHasOneLineARequestAndNoLease(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.append = func(lease phonebooth.LeaseID, offset int64, p []byte) (int64, error) {
		if string(lease) != leaseID || offset != 7 || string(p) != "\x00\xff bytes" {
			return 0, fmt.Errorf("got %q at %d", p, offset)
		}
		return 16, nil
	}
	f.log = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("<script>\xff")), nil }
	r := newRig(t, f)
	a := r.ask(t, "POST", "/v1/agent/leases/"+leaseID+"/log?offset=7", "\x00\xff bytes", asHost, "Content-Type: application/octet-stream")
	if a.status != 200 || a.body != "{\"next\":16}\n" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	for _, path := range []string{
		"/v1/agent/leases/" + leaseID + "/nothing", "//v1/agent/leases/" + leaseID + "/log", "/v1/agent/leases/" + leaseID + "/log?x=%ff",
	} {
		r.ask(t, "POST", path, "", asHost)
	}
	a = r.ask(t, "GET", "/v1/tasks/task_1/log", "")
	if a.body != "<script>\xff" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %q with %v", a.body, a.header)
	}
	log := r.log.String()
	if strings.Contains(log, leaseID) {
		t.Errorf("the log holds a lease id: %s", log)
	}
	if n := strings.Count(log, "msg=request "); n != 5 {
		t.Errorf("got %d lines, want 5: %s", n, log)
	}
	if !strings.Contains(log, "route=/v1/agent/leases/{id}/log status=200") || !strings.Contains(log, "actor=host:rack") {
		t.Errorf("got %s", log)
	}
}
