package httpapi_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
)

// secret stands in rejected values: it must not come back in any answer.
const secret = "hunter2-must-not-be-echoed"

func TestBadSubmissionsAreProblemsAndStoreNothing(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for _, tc := range []struct {
		name, body string
		status     int
		code       string
		pointer    string
		header     []string
	}{
		{name: "nothing", body: ``, status: 400, code: "malformed"},
		{name: "S1.4 empty goal", body: `{"goal":""}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "S1.4 blank goal", body: `{"goal":" \n "}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "S1.4 neither goal nor workflow", body: `{}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "S1.4 both", body: `{"goal":"x","workflow":{"name":"` + secret + `"}}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "S1.4 unknown field", body: `{"goal":"x","gaol":"` + secret + `"}`, status: 422, code: "invalid", pointer: "/gaol"},
		{name: "unknown field by case", body: `{"Goal":"` + secret + `"}`, status: 422, code: "invalid", pointer: "/Goal"},
		{name: "C15 unknown constraint key", body: `{"goal":"x","constraints":{"driver":"` + secret + `"}}`, status: 422, code: "invalid", pointer: "/constraints/driver"},
		{name: "C40 NUL", body: `{"goal":"` + secret + `\u0000"}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "C40 NUL in a tag", body: `{"goal":"x","constraints":{"tags":["a","b\u0000"]}}`, status: 422, code: "invalid", pointer: "/constraints/tags/1"},
		{name: "C40 raw NUL", body: "{\"goal\":\"a\x00b\"}", status: 400, code: "malformed"},
		{name: "C40 invalid UTF-8", body: "{\"goal\":\"" + secret + "\xff\xfe\"}", status: 400, code: "malformed"},
		{name: "C40 half a character", body: `{"goal":"a\ud83db"}`, status: 400, code: "malformed"},
		{name: "not JSON", body: `goal: ` + secret, status: 400, code: "malformed"},
		{name: "two documents", body: `{"goal":"x"}{"goal":"y"}`, status: 400, code: "malformed"},
		{name: "a list", body: `[]`, status: 422, code: "invalid"},
		{name: "another type", body: `{"goal":["` + secret + `"]}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "a number too large", body: `{"goal":"x","timeout_s":1e400}`, status: 400, code: "malformed"},
		{name: "an overflowing timeout", body: `{"goal":"x","timeout_s":18446744075}`, status: 422, code: "invalid", pointer: "/timeout_s"},
		{name: "a fraction", body: `{"goal":"x","priority":1.5}`, status: 422, code: "invalid", pointer: "/priority"},
		{name: "tag too long", body: `{"goal":"x","constraints":{"tags":["` + strings.Repeat("t", 256) + `"]}}`, status: 422, code: "invalid", pointer: "/constraints/tags/0"},
		{name: "goal too long", body: `{"goal":"` + strings.Repeat("x", 100<<10+1) + `"}`, status: 422, code: "invalid", pointer: "/goal"},
		{name: "inputs no object", body: `{"workflow":{"name":"w","inputs":[1]}}`, status: 422, code: "invalid", pointer: "/workflow/inputs"},
		{name: "2 MiB", body: `{"goal":"` + strings.Repeat("x", 2<<20) + `"}`, status: 413, code: "too_large"},
		{name: "another media type", body: `goal=x`, status: 400, code: "malformed", header: []string{"Content-Type: application/x-www-form-urlencoded"}},
		{name: "empty key", body: `{"goal":"x"}`, status: 422, code: "invalid", pointer: "Idempotency-Key", header: []string{"Idempotency-Key: "}},
		{name: "key with a space", body: `{"goal":"x"}`, status: 422, code: "invalid", pointer: "Idempotency-Key", header: []string{"Idempotency-Key: " + secret + " b"}},
		{name: "key too long", body: `{"goal":"x"}`, status: 422, code: "invalid", pointer: "Idempotency-Key", header: []string{"Idempotency-Key: " + strings.Repeat("k", 256)}},
		{name: "two keys", body: `{"goal":"x"}`, status: 422, code: "invalid", pointer: "Idempotency-Key", header: []string{"Idempotency-Key: a", "Idempotency-Key: b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := r.ask(t, "POST", "/v1/tasks", tc.body, tc.header...)
			if a.status != tc.status || a.problem.Code != tc.code || a.problem.Extra["pointer"] != tc.pointer {
				t.Errorf("got %d %s, want %d %s at %q", a.status, a.body, tc.status, tc.code, tc.pointer)
			}
			if strings.Contains(a.body, secret) {
				t.Errorf("the rejected value is echoed: %s", a.body)
			}
		})
	}
	if len(f.submitted) != 0 {
		t.Errorf("%d submissions came through", len(f.submitted))
	}
	if strings.Contains(r.log.String(), secret) {
		t.Errorf("the log holds a rejected value")
	}
}

func TestTooLargeNamesTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, newScripted())
	a := r.ask(t, "POST", "/v1/tasks", strings.Repeat(" ", 1<<20+1))
	if a.status != 413 || a.problem.Extra["limit"] != "1048576" || !strings.Contains(a.problem.Detail, "1048576") {
		t.Errorf("got %s, want the limit named", a.body)
	}
	if a := r.ask(t, "POST", "/v1/tasks", `{"goal":"x"}`+strings.Repeat(" ", 1<<20-12)); a.status != 201 {
		t.Errorf("exactly the limit: got %d %s", a.status, a.body)
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for _, tc := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v1/tasks/task_nope", 404, "task_unknown"},
		{"GET", "/v1/tasks/task_%00", 400, "malformed"},
		{"GET", "/v1/tasks/task_%ff", 400, "malformed"},
		{"GET", "/v1/tasks?cursor=%ff", 400, "malformed"},
		{"GET", "/v1/tasks?cursor=%zz", 400, "malformed"},
		{"GET", "/v1/tasks?cursor=" + secret, 422, "invalid"},
		{"GET", "/v1/tasks?label==" + secret, 422, "invalid"},
		{"GET", "/v1/tasks?status=" + secret, 422, "invalid"},
		{"GET", "/v1/tasks?limit=" + secret, 422, "invalid"},
		{"GET", "/v1/tasks?limit=501", 422, "invalid"},
		{"GET", "/v1/tasks?colour=" + secret, 422, "invalid"},
		{"GET", "/v1/tasks/task_1/log?offset=-1", 422, "invalid"},
		{"GET", "/v1/nothing", 404, "path_unknown"},
		{"GET", "//v1/tasks", 404, "path_unknown"},
		{"GET", "/v1/tasks/", 404, "path_unknown"},
		{"GET", "/v1/tasks/../tasks", 404, "path_unknown"},
		{"GET", "/docs", 404, "path_unknown"},
		{"GET", "/", 404, "path_unknown"},
		{"PATCH", "/v1/tasks", 405, "method_not_allowed"},
		{"DELETE", "/v1/tasks/task_1", 405, "method_not_allowed"},
		{"OPTIONS", "/v1/tasks", 405, "method_not_allowed"},
	} {
		a := r.ask(t, tc.method, tc.path, "")
		if a.status != tc.status || a.problem.Code != tc.code || strings.Contains(a.body, secret) {
			t.Errorf("%s %s: got %d %s, want %d %s", tc.method, tc.path, a.status, a.body, tc.status, tc.code)
		}
	}
	if allow := r.ask(t, "PATCH", "/v1/tasks", "").header.Get("Allow"); allow != "GET, POST, HEAD" {
		t.Errorf("Allow: got %q", allow)
	}
}

func TestRefusalsCarryWhatBelongsToThem(t *testing.T) {
	t.Parallel()
	cause := errors.New("pq: password " + secret)
	for _, tc := range []struct {
		err           error
		status        int
		code          string
		extra, header [2]string
	}{
		{
			err:    phonebooth.Errorf(phonebooth.Exhausted, "queue_full", "10 wait").With("limit", "10"),
			status: 429, code: "queue_full", extra: [2]string{"limit", "10"}, header: [2]string{"Retry-After", "5"},
		},
		{
			err:    phonebooth.Errorf(phonebooth.Unavailable, "outcome_unknown", "repeat").Because(cause),
			status: 503, code: "outcome_unknown", header: [2]string{"Retry-After", "1"},
		},
		{
			err:    phonebooth.Errorf(phonebooth.Invalid, "idempotency_key_reused", "another body"),
			status: 422, code: "idempotency_key_reused",
		},
		{err: phonebooth.Errorf(phonebooth.Internal, "internal", "our fault").Because(cause), status: 500, code: "internal"},
		{err: cause, status: 500, code: "internal"},
	} {
		f := newScripted()
		f.submit = func() (phonebooth.Task, bool, error) { return phonebooth.Task{}, false, tc.err }
		r := newRig(t, f)
		a := r.ask(t, "POST", "/v1/tasks", `{"goal":"x"}`, "X-Request-Id: mine-1")
		if a.status != tc.status || a.problem.Code != tc.code || a.problem.Extra[tc.extra[0]] != tc.extra[1] {
			t.Errorf("%v: got %d %s", tc.err, a.status, a.body)
		}
		if name := tc.header[0]; name != "" && a.header.Get(name) != tc.header[1] {
			t.Errorf("%v: %s: got %q, want %q", tc.err, name, a.header.Get(name), tc.header[1])
		}
		if strings.Contains(a.body, secret) {
			t.Errorf("%v: the cause leaks: %s", tc.err, a.body)
		}
		if tc.status >= 500 && !strings.Contains(r.log.String(), "request_id=mine-1") {
			t.Errorf("%v: the log does not have it: %s", tc.err, r.log)
		}
	}
}

func TestAPanicIsAProblem(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.submit = func() (phonebooth.Task, bool, error) { panic(secret) }
	r := newRig(t, f)
	a := r.ask(t, "POST", "/v1/tasks", `{"goal":"x"}`)
	if a.status != 500 || a.problem.Code != "internal" || strings.Contains(a.body, secret) {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if !strings.Contains(r.log.String(), secret) {
		t.Errorf("the log does not say what happened: %s", r.log)
	}
}

func TestALogThatBreaksOffDoesNotLookWhole(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.log = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("first half"), brokenReader{})), nil
	}
	r := newRig(t, f)
	conn, err := net.Dial("tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/tasks/task_1/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+adminToken+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(conn)
	if strings.HasSuffix(string(text), "\r\n0\r\n\r\n") {
		t.Errorf("the answer ends as if it were whole: %q", text)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }
