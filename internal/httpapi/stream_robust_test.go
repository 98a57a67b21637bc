package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/phonebooth-dev/phonebooth"
)

func TestAStreamSaysWhatWasPruned(t *testing.T) {
	t.Parallel()
	f := newScripted()
	for i := range 9 {
		f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: phonebooth.TaskID(fmt.Sprintf("task_%d", i+1))})
	}
	f.prune(5)
	r := newRig(t, f)
	behind := follow(t, r, "?after=2&kind=task.submitted")
	if got := wait(t, behind, "data: "); !strings.Contains(got, `"code":"position_pruned"`) || !strings.Contains(got, `"oldest":6`) {
		t.Errorf("behind a position that is gone: %s", got)
	}
	if got := wait(t, behind, "data: "); !strings.Contains(got, `"pos":6,`) {
		t.Errorf("and then: %s", got)
	}
	for query, want := range map[string]string{"?after=0": `"pos":6,`, "?after=5": `"pos":6,`, "?after=7": `"pos":8,`} {
		if got := wait(t, follow(t, r, query), "data: "); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want no word of what is gone, and %s", query, got, want)
		}
	}
	f.prune(9) // all of it
	if got := wait(t, follow(t, r, "", "Last-Event-ID: 7"), "data: "); !strings.Contains(got, `"oldest":10`) {
		t.Errorf("behind a position of a record that is gone: %s", got)
	}
}

func TestAPageSaysWhatWasPruned(t *testing.T) {
	t.Parallel()
	f := newScripted()
	for range 9 {
		f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted})
	}
	f.prune(5)
	r := newRig(t, f)
	if a := r.ask(t, "GET", "/v1/events?after=4", ""); a.status != 410 || a.problem.Code != "position_pruned" || a.problem.Extra["oldest"] != "6" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if a := r.ask(t, "GET", "/v1/events", ""); a.status != 200 || !strings.Contains(a.body, `"oldest":6`) {
		t.Errorf("from the beginning: got %d %s", a.status, a.body)
	}
}

func TestAPositionBeyondTheRecordIsRefused(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted})
	r := newRig(t, f)
	for _, header := range []string{"Accept: application/json", "Accept: text/event-stream"} {
		if a := r.ask(t, "GET", "/v1/events?after=2", "", header); a.status != 409 || a.problem.Code != "position_ahead" || a.problem.Extra["newest"] != "1" {
			t.Errorf("%s: got %d %s", header, a.status, a.body)
		}
	}
	if a := r.ask(t, "GET", "/v1/events", "", "Accept: text/event-stream", "Last-Event-ID: 2"); a.problem.Code != "position_ahead" {
		t.Errorf("a stream that goes on: got %d %s", a.status, a.body)
	}
}

func TestEventsAreChosen(t *testing.T) {
	t.Parallel()
	f := newScripted()
	labels := map[string]string{"suite": "night", "x": ""}
	f.commit(phonebooth.Event{Kind: phonebooth.TaskSubmitted, TaskID: "task_1", Labels: labels})
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone, TaskID: "task_2", At: time.Unix(100, 0)})
	f.commit(phonebooth.Event{Kind: phonebooth.DeviceHeld, DeviceID: "device_1", At: time.Unix(200, 0)})
	f.commit(phonebooth.Event{Kind: phonebooth.TaskFailed, TaskID: "task_1", Labels: labels, At: time.Unix(300, 0)})
	r := newRig(t, f)
	for query, want := range map[string]string{
		"kind=task.*": "1 2 4", "kind=task.done,device.held": "2 3", "kind=host.*": "", "label=suite=night": "1 4", "label=suite&label=x=": "1 4",
		"label=suite=day": "", "kind=task.*&label=x&after=1": "4", "since=1970-01-01T00:03:20Z": "3 4",
	} {
		a := r.ask(t, "GET", "/v1/events?"+query, "")
		var got []string
		for pos := 1; pos <= 4; pos++ {
			if strings.Contains(a.body, fmt.Sprintf(`"pos":%d,`, pos)) {
				got = append(got, fmt.Sprint(pos))
			}
		}
		if strings.Join(got, " ") != want || a.status != 200 {
			t.Errorf("a page of %s: got %v, want %q: %s", query, got, want, a.body)
		}
		if first, _, _ := strings.Cut(want, " "); first != "" {
			from := "&after=0"
			if strings.Contains(query, "after") || strings.Contains(query, "since") {
				from = ""
			}
			if got := wait(t, follow(t, r, "?"+query+from), "data: "); !strings.Contains(got, `"pos":`+first+`,`) {
				t.Errorf("a stream of %s: got %s, want %s first", query, got, first)
			}
		}
	}
	for _, query := range []string{"kind=task", "kind=*", "kind=task.none", "kind=none.*", "label==x", "before=3", "since=yesterday"} {
		if a := r.ask(t, "GET", "/v1/events?"+query, ""); a.status != 422 {
			t.Errorf("%s: got %d %s", query, a.status, a.body)
		}
	}
}

// slowly is a connection whose other side takes bytes only after some time.
type slowly struct {
	net.Conn
	mu    sync.Mutex
	pause time.Duration
}

func (c *slowly) Write(p []byte) (int, error) {
	c.mu.Lock()
	pause := c.pause
	c.mu.Unlock()
	if strings.Contains(string(p), "data: ") {
		time.Sleep(pause)
	}
	return c.Conn.Write(p)
}

type slowListener struct {
	net.Listener
	pause time.Duration
}

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &slowly{Conn: c, pause: l.pause}, nil
}

// TestASlowReaderIsTold takes a piece in more than half of the time that it may take.
func TestASlowReaderIsTold(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone})
	r := newRig(t, f) // its readers may take a second
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: r.api}
	served := make(chan error)
	go func() { served <- server.Serve(slowListener{slow, 700 * time.Millisecond}) }()
	defer func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+slow.Addr().String()+"/v1/events?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body) // the stream ends
	if err != nil || !strings.Contains(string(text), "\"pos\":1,") ||
		!strings.Contains(string(text), "id: 1\nevent: dropped\ndata: {\"code\":\"slow_reader\"") {
		t.Errorf("got %s, %v", text, err)
	}
	if !strings.Contains(r.log.String(), "the reader is too slow") {
		t.Errorf("got %s", r.log)
	}
}

// TestAThousandReadersLeaveNothing is alone: it counts what the whole process has.
func TestAThousandReadersLeaveNothing(t *testing.T) {
	f := newScripted()
	f.commit(phonebooth.Event{Kind: phonebooth.TaskDone})
	r := newRig(t, f)
	transport := &http.Transport{}
	before, files := goleak.IgnoreCurrent(), openFiles(t)
	var readers sync.WaitGroup
	turns := make(chan bool, 50)
	for i := range 1000 {
		turns <- true
		readers.Go(func() {
			defer func() { <-turns }()
			if err := visit(t.Context(), transport, r.URL, i%3 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	transport.CloseIdleConnections()
	if err := goleak.Find(before); err != nil { // it waits for those that are about to end
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); openFiles(t) > files; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d files are open, %d were", openFiles(t), files)
		}
	}
}

// visit reads one event of the record and leaves: at once, or after it was waiting for the next.
func visit(ctx context.Context, transport http.RoundTripper, url string, wait bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/v1/events?after=0", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") && !wait || strings.HasPrefix(lines.Text(), ": heartbeat") {
			return nil
		}
	}
	return fmt.Errorf("the stream ended: %w", lines.Err())
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
