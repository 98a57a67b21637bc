package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/client"
)

// TestAWatchedPageIsBounded has so many tasks, of which none is chosen, that their list does not end.
func TestAWatchedPageIsBounded(t *testing.T) {
	t.Parallel()
	var lists, pools atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/devices") {
			pools.Add(1)
			_, _ = io.WriteString(w, `{"devices":[]}`)
			return
		}
		if lists.Add(1) > 100 {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, `{"tasks":[],"next":"further"}`)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &taskWatch{cmd: verb(t), client: c, query: client.TaskQuery{Text: "foo", Limit: 50}, out: formatTable, shown: map[string]string{}}
	for range 3 {
		if err := w.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if lists.Load() > 3*watchCalls || pools.Load() != 1 || w.page.Next != "further" {
		t.Errorf("3 looks made %d calls for tasks and %d for devices, and go on at %q", lists.Load(), pools.Load(), w.page.Next)
	}
	w.looked, w.took = time.Now(), time.Minute
	if rest := w.rest(); rest < 9*time.Minute || rest > 10*time.Minute {
		t.Errorf("behind a look that took a minute the next is due in %v, want ten", rest)
	}
	var said bytes.Buffer
	w.cmd.SetOut(io.Discard)
	w.cmd.SetErr(&said)
	if err := taskTable(w.cmd, w.device, w.page); err != nil || !strings.Contains(said.String(), "there are more: add --cursor further") {
		t.Errorf("said %q, %v", &said, err)
	}
}
