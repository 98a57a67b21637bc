package client_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// script is a server that answers as told, the last answer for ever, and notes what it was asked.
type script struct {
	mu      sync.Mutex
	answers []func(*http.Request) (*http.Response, error)
	asked   []*http.Request
	bodies  []string
	at      []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	next := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked, s.bodies, s.at = append(s.asked, r), append(s.bodies, body), append(s.at, time.Now())
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return next(r)
}

func says(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func refuses(status int, code string, header ...string) func(*http.Request) (*http.Response, error) {
	return says(status, fmt.Sprintf(`{"type":"about:blank","title":"t","status":%d,"detail":"because","code":%q,"extra":{"limit":"10"}}`, status, code), header...)
}

func breaks(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func newClient(t *testing.T, s *script, opts client.Options) *client.Client {
	t.Helper()
	opts.Transport = s
	c, err := client.New("http://server:8420/", "pb_admin_token", opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSubmitAlwaysSendsAKeyAndRepeatsUnderIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			breaks, refuses(503, "outcome_unknown"), says(201, `{"id":"task_1","sta`), says(200, `{"id":"task_1","status":"queued"}`),
		}}
		c := newClient(t, s, client.Options{})
		task, err := c.Submit(t.Context(), v1.TaskRequest{Goal: "<x> & y"})
		if err != nil || task.ID != "task_1" {
			t.Fatalf("got %+v, %v", task, err)
		}
		key := s.asked[0].Header.Get("Idempotency-Key")
		if err := phonebooth.ValidIdempotencyKey(key); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
		for i, r := range s.asked {
			if r.Header.Get("Idempotency-Key") != key || s.bodies[i] != s.bodies[0] || r.Header.Get("Authorization") != "Bearer pb_admin_token" {
				t.Errorf("try %d differs: %v %s", i, r.Header, s.bodies[i])
			}
		}
		if len(s.asked) != 4 || s.asked[0].URL.String() != "http://server:8420/v1/tasks" || !strings.Contains(s.bodies[0], `"<x> & y"`) {
			t.Errorf("asked %d times, %v with %s", len(s.asked), s.asked[0].URL, s.bodies[0])
		}
		if _, err := c.Submit(t.Context(), v1.TaskRequest{Goal: "x"}); err != nil || s.asked[4].Header.Get("Idempotency-Key") == key {
			t.Errorf("another submission: the same key, %v", err)
		}
	})
}

func TestWhatMayNotBeRepeatedIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, call := range map[string]func(*client.Client) error{
			"release":    func(c *client.Client) error { _, err := c.Release(t.Context(), "d"); return err },
			"enrollment": func(c *client.Client) error { _, err := c.Enrollment(t.Context(), "rack"); return err },
			"claim":      func(c *client.Client) error { _, err := c.Agent("h").Claim(t.Context(), v1.ClaimRequest{}); return err },
			"renew": func(c *client.Client) error {
				_, err := c.Agent("h").Renew(t.Context(), v1.RenewalRequest{})
				return err
			},
			"report": func(c *client.Client) error {
				_, err := c.Agent("h").Report(t.Context(), v1.ReportRequest{})
				return err
			},
			"start": func(c *client.Client) error {
				_, err := c.Agent("h").Start(t.Context(), v1.IncarnationRequest{})
				return err
			},
			"inventory": func(c *client.Client) error {
				_, err := c.Agent("h").Inventory(t.Context(), v1.InventoryRequest{})
				return err
			},
			"enroll": func(c *client.Client) error { _, err := c.Enroll(t.Context(), v1.EnrollRequest{}); return err },
			"log": func(c *client.Client) error {
				_, err := c.Agent("h").AppendLog(t.Context(), "lease", v1.LogRunner, 0, []byte("x"))
				return err
			},
		} {
			s := &script{answers: []func(*http.Request) (*http.Response, error){breaks}}
			if err := call(newClient(t, s, client.Options{})); phonebooth.CodeOf(err) != client.Unreachable || len(s.asked) != 1 {
				t.Errorf("%s: asked %d times, got %v", name, len(s.asked), err)
			}
		}
	})
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			patience time.Duration
			timeout  time.Duration
			most     time.Duration
		}{
			{0, time.Hour, client.DefaultPatience}, {time.Minute, time.Hour, time.Minute}, {-1, time.Hour, 0}, {time.Hour, 3 * time.Second, 3 * time.Second},
		} {
			s := &script{answers: []func(*http.Request) (*http.Response, error){breaks}}
			ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
			began := time.Now()
			_, err := newClient(t, s, client.Options{Patience: tc.patience}).Task(ctx, "task_1")
			cancel()
			if took := time.Since(began); phonebooth.CodeOf(err) != client.Unreachable || took > tc.most || took < tc.most/4 {
				t.Errorf("patience %v, timeout %v: %v after %v and %d tries", tc.patience, tc.timeout, err, took, len(s.asked))
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			refuses(503, "store_unavailable", "Retry-After: 3"), says(200, `{"id":"task_1"}`),
		}}
		if _, err := newClient(t, s, client.Options{}).Task(t.Context(), "task_1"); err != nil {
			t.Fatal(err)
		}
		if pause := s.at[1].Sub(s.at[0]); pause < 3*time.Second || pause > 4*time.Second {
			t.Errorf("came again after %v, want 3 s and a little", pause)
		}
	})
}

func TestRefusalsAreErrorsWithACode(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){refuses(429, "queue_full", "Retry-After: 5")}}
	_, err := newClient(t, s, client.Options{}).Submit(t.Context(), v1.TaskRequest{Goal: "x"})
	var e *phonebooth.Error
	if !errors.As(err, &e) || e.Code != "queue_full" || e.Kind != phonebooth.Exhausted || e.Message != "because" || e.Detail["limit"] != "10" {
		t.Errorf("got %#v", err)
	}
	if len(s.asked) != 1 {
		t.Errorf("a full queue was asked %d times", len(s.asked))
	}
}

func TestAnswersThatAreNotTheAPIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answer func(*http.Request) (*http.Response, error)
		kind   phonebooth.Kind
	}{
		{says(200, `<html>welcome</html>`), phonebooth.Unavailable},
		{says(502, `<html>bad gateway</html>`), phonebooth.Unavailable},
		{says(404, `not here`), phonebooth.NotFound},
		{says(302, ``, "Location: http://elsewhere/"), phonebooth.Internal},
	} {
		s := &script{answers: []func(*http.Request) (*http.Response, error){tc.answer}}
		_, err := newClient(t, s, client.Options{Patience: -1}).Task(t.Context(), "task_1")
		var e *phonebooth.Error
		if !errors.As(err, &e) || e.Code != client.Unreadable || e.Kind != tc.kind || strings.Contains(e.Message, "html") {
			t.Errorf("got %#v, want unreadable of kind %d", err, tc.kind)
		}
		if len(s.asked) != 1 {
			t.Errorf("asked %d times: is the token carried elsewhere?", len(s.asked))
		}
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){breaks}}
	c := newClient(t, s, client.Options{})
	_, err := c.Agent("h").AppendLog(t.Context(), "lease_secret", v1.LogRunner, 0, []byte("x"))
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "lease_secret") {
			t.Errorf("an error holds the lease: %v", e)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "pb_admin_token") {
		t.Errorf("the client shows its token: %s", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Task(ctx, "task_1"); !errors.Is(err, context.Canceled) || phonebooth.CodeOf(err) != client.Unreachable {
		t.Errorf("a cancelled call: got %v", err)
	}
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"http://127.0.0.1:8420": true, "https://phones.example.org/lab/": true, "": false, "127.0.0.1:8420": false, "ftp://x": false,
		"http://": false, "http://user:secret@x": false, "http://x?y=z": false,
	} {
		_, err := client.New(address, "t", client.Options{})
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", address, err)
		}
	}
}

func TestIDsDoNotLeadElsewhere(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){says(200, `{"id":"task_1"}`)}}
	c := newClient(t, s, client.Options{})
	for _, id := range []string{"", ".", ".."} {
		if _, err := c.Task(t.Context(), id); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("%q: got %v", id, err)
		}
	}
	if _, err := c.Task(t.Context(), "a/../b?c#d"); err != nil || s.asked[0].URL.EscapedPath() != "/v1/tasks/a%2F..%2Fb%3Fc%23d" {
		t.Errorf("got %v, %v", s.asked, err)
	}
}

// TestC40_TheClientDoesNotRepairAGoal: JSON encoders replace bad UTF-8 in silence.
func TestC40_TheClientDoesNotRepairAGoal(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){says(201, `{}`)}}
	c := newClient(t, s, client.Options{})
	for _, req := range []v1.TaskRequest{
		{Goal: "a\xff"}, {Goal: "x", Constraints: v1.Constraints{Tags: []string{"\xff"}}}, {Goal: "x", Labels: map[string]string{"k": "\xff"}},
	} {
		if _, err := c.Submit(t.Context(), req); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("%+v: got %v", req, err)
		}
	}
	if _, err := c.SubmitKey(t.Context(), "two words", v1.TaskRequest{Goal: "x"}); phonebooth.CodeOf(err) != "invalid" || len(s.asked) != 0 {
		t.Errorf("a bad key: got %v, asked %d times", err, len(s.asked))
	}
}

func TestAReportIsMadeFitToSend(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){says(200, `{"task_id":"task_1","status":"done"}`)}}
	a := newClient(t, s, client.Options{}).Agent("host_1")
	_, err := a.Report(t.Context(), v1.ReportRequest{
		LeaseID: "l", Outcome: "failed", Message: "nul\x00 bad\xff " + strings.Repeat("é", 5000),
		Result: []byte("{\"a\":\"\\u0000 \\\\u0000 \\ud83d\\udcf1 \\ud83d \\udcf1 \xff\"}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	body := s.bodies[0]
	if !strings.Contains(body, "{\"a\":\"\\ufffd \\\\u0000 \\ud83d\\udcf1 \\ufffd \\ufffd \ufffd\"}") {
		t.Errorf("the result is %s", body[strings.Index(body, `"result"`):])
	}
	if !strings.Contains(body, `nul\ufffd bad`) || strings.Count(body, "é") != 4096-len("nul_ bad_ ") {
		t.Errorf("the message has %d é: %.80s", strings.Count(body, "é"), body)
	}
	if got := s.asked[0].Header.Get(v1.HeaderHostID); got != "host_1" {
		t.Errorf("for host %q", got)
	}
	if got, err := a.AppendLog(t.Context(), "l", v1.LogRunner, 7, nil); err != nil || got.Next != 7 || len(s.asked) != 1 {
		t.Errorf("no bytes: got %d, %v", got.Next, err)
	}
}

func TestWaitAsksUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			says(200, `{"id":"task_1","status":"queued"}`), says(200, `{"id":"task_1","status":"dispatched"}`),
			refuses(503, "store_unavailable"), says(200, `{"id":"task_1","status":"failed"}`),
		}}
		var seen []string
		task, err := newClient(t, s, client.Options{}).Wait(t.Context(), "task_1", func(task v1.Task) { seen = append(seen, task.Status) })
		if err != nil || task.Status != "failed" || strings.Join(seen, " ") != "queued dispatched failed" {
			t.Errorf("got %s over %v, %v", task.Status, seen, err)
		}
		s.answers = s.answers[:1]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := newClient(t, s, client.Options{}).Wait(ctx, "task_1", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAServerThatOffersHTTP2IsUnderstood(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"version":"1","api":"v1"}`)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c, err := client.New(s.URL, "token", client.Options{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Version(t.Context()); err != nil || v.Version != "1" {
		t.Errorf("got %+v, %v", v, err)
	}
}
