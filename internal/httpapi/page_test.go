package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/webui"
)

// newSite is a rig with the dashboard, and the cookie of somebody who signed in so long ago.
func newSite(t *testing.T, f *scripted, ago time.Duration) (*rig, *http.Cookie) {
	t.Helper()
	tokens := auth.New(f, adminToken)
	signIns := tokens.SignIns()
	api := httpapi.New(f, tokens, httpapi.Options{Cookies: signIns, Pages: webui.New(signIns)})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	cookie, err := signIns.SignIn(t.Context(), httptest.NewRequest(http.MethodPost, "/sign-in", nil), adminToken, time.Now().Add(-ago))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{server, api, &lines{}}, cookie
}

func TestABrowserIsKnownByItsCookie(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.tasks = func(store.TaskFilter) (store.TaskPage, error) { return store.TaskPage{}, nil }
	f.cancel = func() (phonebooth.Task, error) {
		return phonebooth.Task{ID: "task_1", Status: phonebooth.Cancelled}, nil
	}
	r, cookie := newSite(t, f, 0)
	with := "Cookie: " + cookie.Name + "=" + cookie.Value
	ask := func(method, path string, header ...string) answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			req.Header.Set(name, value)
		}
		resp, err := r.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{status: resp.StatusCode, header: resp.Header, body: string(body)}
	}
	for _, tc := range []struct {
		name, method, path string
		header             []string
		status             int
		code               string
	}{
		{"reads", "GET", "/v1/tasks", []string{with}, 200, ""},
		{"does something from our page", "POST", "/v1/tasks/task_1/cancel", []string{with, "Sec-Fetch-Site: same-origin"}, 200, ""},
		{"is sent by another site", "POST", "/v1/tasks/task_1/cancel", []string{with, "Sec-Fetch-Site: cross-site"}, 403, "cross_origin"},
		{"is sent by another port", "POST", "/v1/tasks/task_1/cancel", []string{with, "Sec-Fetch-Site: same-site"}, 403, "cross_origin"},
		{"is sent by an old browser", "POST", "/v1/tasks/task_1/cancel", []string{with, "Origin: http://evil.example"}, 403, "cross_origin"},
		{"is no host's", "POST", "/v1/agent/renewals", []string{with, "Sec-Fetch-Site: same-origin"}, 403, "forbidden"},
		{"is forged", "GET", "/v1/tasks", []string{with + "x"}, 401, "unauthenticated"},
		{"stands behind a token", "GET", "/v1/tasks", []string{with, "Authorization: Bearer wrong"}, 401, "unauthenticated"},
		{"is not needed with a token", "POST", "/v1/tasks/task_1/cancel", []string{"Authorization: Bearer " + adminToken, "Origin: http://evil.example"}, 200, ""},
	} {
		a := ask(tc.method, tc.path, tc.header...)
		if a.status != tc.status || tc.code != "" && !strings.Contains(a.body, `"code":"`+tc.code+`"`) || a.header.Get("Set-Cookie") != "" {
			t.Errorf("a cookie that %s: %d %s, sets %q; want %d %s", tc.name, a.status, a.body, a.header.Get("Set-Cookie"), tc.status, tc.code)
		}
	}
	r, old := newSite(t, f, 3*time.Hour)
	a := ask("GET", "/v1/tasks", "Cookie: "+old.Name+"="+old.Value)
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Set-Cookie"), old.Name+"=") || strings.Contains(a.header.Get("Set-Cookie"), old.Value) {
		t.Errorf("an older cookie: %d, sets %q; want a fresh one", a.status, a.header.Get("Set-Cookie"))
	}
}

func TestPagesAreServedBesideTheAPI(t *testing.T) {
	t.Parallel()
	r, _ := newSite(t, newScripted(), 0)
	const browser = "Accept: text/html,application/xhtml+xml"
	for _, path := range []string{"/", "/timeline", "/tasks", "/tasks/task_1", "/devices/device_1", "/workflows/login", "/events", "/submit?goal=x"} {
		a := r.ask(t, "GET", path, "", browser)
		if a.status != 200 || !strings.Contains(a.body, "<title>Phonebooth</title>") || !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d with %v", path, a.status, a.header)
		}
	}
	if a := r.ask(t, "GET", "/nowhere", ""); a.status != 404 || a.problem.Code != "path_unknown" {
		t.Errorf("a program at an unknown path: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "GET", "/v1/nothing", "", browser); a.status != 404 || a.problem.Code != "path_unknown" {
		t.Errorf("a browser at an unknown call: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "POST", "/tasks", "{}"); a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("a page that is posted to: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/nowhere", "/nowhere?y=%zz", "/tasks?text=%00", "//elsewhere.example/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		resp, err := r.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 404 || !strings.Contains(string(body), "<title>Phonebooth</title>") {
			t.Errorf("a browser at %s: %d, %v", path, resp.StatusCode, err)
		}
	}
}
