package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// follow opens an event stream and gives its lines, without heartbeats.
func follow(t *testing.T, r *rig, query string, header ...string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Accept", "text/event-stream")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		t.Fatalf("got %d of type %q", resp.StatusCode, ct)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			out <- lines.Text()
		}
	}()
	return out
}

// wait reads lines until one begins with prefix.
func wait(t *testing.T, lines <-chan string, prefix string) string {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", prefix)
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-timeout:
			t.Fatalf("no line %q came", prefix)
		}
	}
}

func TestAStreamFollowsTheRecord(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: "task_1"})
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: "task_2"})
	r := newRig(t, f)

	onlyNew, all := follow(t, r, ""), follow(t, r, "?after=0")
	resumed := follow(t, r, "?after=0", "Last-Event-ID: 1")
	done := follow(t, r, "?after=0&kind=task.done&task_id=task_2")
	wait(t, onlyNew, "id: 2") // its position, before anything came
	if got := wait(t, all, "data: "); !strings.Contains(got, `"pos":1,`) || !strings.Contains(got, `"task_id":"task_1"`) {
		t.Errorf("from the beginning: got %s", got)
	}
	if got := wait(t, resumed, "data: "); !strings.Contains(got, `"pos":2,`) {
		t.Errorf("resumed: got %s", got)
	}
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone, TaskID: "task_1"})
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone, TaskID: "task_2"})
	if got := wait(t, onlyNew, "data: "); !strings.Contains(got, `"pos":3,`) {
		t.Errorf("only new: got %s", got)
	}
	if got := wait(t, done, "data: "); !strings.Contains(got, `"pos":4,`) {
		t.Errorf("filtered: got %s", got)
	}
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone, TaskID: "task_3"})
	wait(t, done, ": heartbeat")
	if got := wait(t, done, "id: "); got != "id: 5" {
		t.Errorf("a heartbeat tells the position, past what did not match: got %s", got)
	}
	r.api.Close()
	for range onlyNew { // ends: the server stops
	}
}

func TestAPageOfEvents(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	if a := r.ask(t, "GET", "/v1/events", ""); a.body != `{"events":[],"next":0,"more":false,"oldest":1}`+"\n" {
		t.Errorf("got %s", a.body)
	}
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: "task_1", Actor: "admin", RequestID: "r-1"})
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: "task_2"})
	a := r.ask(t, "GET", "/v1/events?limit=1", "")
	if !strings.Contains(a.body, `"actor":"admin","request_id":"r-1"`) || !strings.Contains(a.body, `"next":1,"more":true,"oldest":1}`) || strings.Contains(a.body, "task_2") {
		t.Errorf("got %s", a.body)
	}
	if a := r.ask(t, "GET", "/v1/events?after=1", ""); !strings.Contains(a.body, "task_2") || strings.Contains(a.body, "task_1") {
		t.Errorf("got %s", a.body)
	}
}

// TestASlowReaderIsDropped reads nothing of a stream that is larger than what buffers take.
func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	f := newScripted()
	long := phonebooth.Event{Kind: phonebooth.TaskDone, Detail: phonebooth.EventDetail{Message: strings.Repeat("x", 1<<20)}}
	for range 32 {
		f.commit(long)
	}
	r := newRig(t, f)
	conn, err := net.Dial("tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := "GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer " + adminToken + "\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.log.String(), "event stream ended"); {
		if time.Now().After(deadline) {
			t.Fatal("the stream to a reader that reads nothing is still open")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(r.log.String(), "i/o timeout") {
		t.Errorf("got %s", r.log)
	}
}
