package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

func TestArtifactsAreAskedForUntilThereIsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			breaks, refuses(503, "store_unavailable"), says(200, `{"artifacts":[{"attempt":2,"name":"a/b","bytes":3}]}`),
			breaks, says(200, "the bytes"), refuses(404, "artifact_unknown"),
		}}
		c := newClient(t, s, client.Options{})
		list, err := c.Artifacts(t.Context(), "task_1", 2)
		if err != nil || len(list) != 1 || list[0].Name != "a/b" {
			t.Fatalf("got %+v, %v", list, err)
		}
		body, err := c.Artifact(t.Context(), "task_1", 2, "a b/ü%?#.png")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(body); string(text) != "the bytes" || errors.Join(err, body.Close()) != nil {
			t.Errorf("got %q, %v", text, err)
		}
		if _, err := c.Artifact(t.Context(), "task_1", 2, "none"); phonebooth.CodeOf(err) != "artifact_unknown" {
			t.Errorf("one that is not there: %v", err)
		}
		for i, want := range map[int]string{
			2: "http://server:8420/v1/tasks/task_1/artifacts?attempt=2", 4: "http://server:8420/v1/tasks/task_1/artifacts/2/a%20b/%C3%BC%25%3F%23.png",
		} {
			if got := s.asked[i].URL.String(); got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		}
	})
}

func TestAnArtifactIsPutOnceAndItsReaderGivenBack(t *testing.T) {
	t.Parallel()
	s := &script{answers: []func(*http.Request) (*http.Response, error){refuses(503, "store_full"), says(204, "")}}
	agent := newClient(t, s, client.Options{}).Agent("host_1")
	if err := agent.PutArtifact(t.Context(), "lease_1", "a", 3, "d1", strings.NewReader("one")); phonebooth.CodeOf(err) != "store_full" || len(s.asked) != 1 {
		t.Errorf("got %v after %d tries; it is the agent that repeats", err, len(s.asked))
	}
	if err := agent.PutArtifact(t.Context(), "lease_1", "shot/é.png", 3, "d2", strings.NewReader("one")); err != nil {
		t.Errorf("put: %v", err)
	}
	r := s.asked[1]
	if got := r.Method + " " + r.URL.String(); got != "PUT http://server:8420/v1/agent/leases/lease_1/artifacts/shot/%C3%A9.png?sha256=d2" {
		t.Errorf("asked %s", got)
	}
	if r.ContentLength != 3 || s.bodies[1] != "one" || r.Header.Get("Expect") != "100-continue" || r.Header.Get("X-Phonebooth-Host-Id") != "host_1" {
		t.Errorf("sent %d bytes %q with %v", r.ContentLength, s.bodies[1], r.Header)
	}
	for _, name := range []string{"", "..", "a/../b", "a//b", "/a"} {
		if err := agent.PutArtifact(t.Context(), "lease_1", name, 3, "d", strings.NewReader("one")); phonebooth.CodeOf(err) != "invalid" || len(s.asked) != 2 {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}

func TestWhatIsWrongWithAnArtifactsReaderIsSaid(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil && n == r.ContentLength {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "t", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	agent, spoilt := c.Agent(""), errors.New("input/output error")
	if err := agent.PutArtifact(t.Context(), "lease_1", "a", 6, "d", iotest.ErrReader(spoilt)); !errors.Is(err, spoilt) {
		t.Errorf("a disk that fails: %v", err)
	}
	for what, text := range map[string]string{"shorter": "five.", "longer": "seven.."} {
		if err := agent.PutArtifact(t.Context(), "lease_1", "a", 6, "d", strings.NewReader(text)); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("a file that is %s than was said: %v", what, err)
		}
	}
	if err := agent.PutArtifact(t.Context(), "lease_1", "a", 0, "d", strings.NewReader("")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// TestAReaderIsTheCallersAgainOnceItIsRefused fails under the race detector if the transport reads on.
func TestAReaderIsTheCallersAgainOnceItIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"status":404,"code":"lease_unknown","detail":"none"}`)
	}))
	t.Cleanup(server.Close)
	const size = 8 << 20
	c, err := client.New(server.URL, "t", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		own := &counted{left: size}
		if err := c.Agent("").PutArtifact(t.Context(), "lease_1", "a", size, "d", own); phonebooth.CodeOf(err) != "lease_unknown" {
			t.Errorf("got %v", err)
		}
		own.left = 0
	}
}

// counted is a reader that is not safe for two.
type counted struct{ left int }

func (c *counted) Read(p []byte) (int, error) {
	n := min(len(p), c.left)
	if c.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
