package httpapi_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// The status tells a batch that is stored from one that was.
func TestABatchIsCreatedOnceAndThenFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token, err := os.ReadFile(filepath.Join(h.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	send := func(keys ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+v1.PathTaskBatch, strings.NewReader(`{"tasks":[{"goal":"x"},{"goal":"y"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		req.Header[v1.HeaderIdempotencyKey] = keys
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	status, first := send("k")
	if status != http.StatusCreated || strings.Count(first, `"queued"`) != 2 {
		t.Errorf("the first time: %d %s, want 201 and two queued tasks", status, first)
	}
	if status, again := send("k"); status != http.StatusOK || again != first {
		t.Errorf("the second time: %d %s, want 200 and the same", status, again)
	}
	if status, other := send(); status != http.StatusCreated || other == first {
		t.Errorf("without a key: %d, want 201 and other tasks", status)
	}
	if status, _ := send("k", "l"); status != http.StatusUnprocessableEntity {
		t.Errorf("with two keys: %d, want 422", status)
	}
	if status, _ := send(""); status != http.StatusUnprocessableEntity {
		t.Errorf("with an empty key: %d, want 422", status)
	}
}
