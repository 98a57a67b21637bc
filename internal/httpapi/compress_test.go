package httpapi_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// plainly asks for path with that Accept-Encoding and leaves the answer as it came.
func plainly(t *testing.T, r *rig, path, encoding string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Accept-Encoding", encoding) // by hand: the transport unpacks nothing then
	resp, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func TestLongListsArePackedForThoseWhoTakeThem(t *testing.T) {
	t.Parallel()
	f := newScripted()
	found := store.TaskPage{}
	f.tasks = func(store.TaskFilter) (store.TaskPage, error) { return found, nil }
	r := newRig(t, f)
	if resp, body := plainly(t, r, "/v1/tasks", "gzip"); resp.Header.Get("Content-Encoding") != "" || string(body) != "{\"tasks\":[]}\n" {
		t.Errorf("a short list: %s of %q", resp.Header.Get("Content-Encoding"), body)
	}
	for range 50 {
		found.Tasks = append(found.Tasks, phonebooth.Task{ID: "task_1", Status: phonebooth.Queued, TaskSpec: phonebooth.TaskSpec{Goal: strings.Repeat("x", 50)}})
	}
	resp, packed := plainly(t, r, "/v1/tasks", "br, gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("Vary") != "Accept-Encoding" || resp.StatusCode != 200 {
		t.Fatalf("a long list: %d with %v", resp.StatusCode, resp.Header)
	}
	z, err := gzip.NewReader(strings.NewReader(string(packed)))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	resp, whole := plainly(t, r, "/v1/tasks", "identity")
	if resp.Header.Get("Content-Encoding") != "" || string(whole) != string(unpacked) || len(packed)*4 > len(whole) {
		t.Errorf("%d bytes packed, %d unpacked, %d whole", len(packed), len(unpacked), len(whole))
	}
	var list v1.TaskList
	if err := json.Unmarshal(whole, &list); err != nil || len(list.Tasks) != 50 {
		t.Errorf("%d tasks, %v", len(list.Tasks), err)
	}
	if resp, _ := plainly(t, r, "/openapi.json", "gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Error("what is no list is packed")
	}
	if resp, body := plainly(t, r, "/v1/tasks/none", "gzip"); resp.StatusCode != 404 || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("a refusal: %d %q", resp.StatusCode, body)
	}
}
