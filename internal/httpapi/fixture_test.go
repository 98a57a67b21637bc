package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

const (
	adminToken = "pb_admin_test"
	hostToken  = "pb_host_test"
	hostID     = "host_test"
	leaseID    = "lease_must-not-be-seen"
)

// scripted is a Control that answers as a test says and notes what was asked. What a test does not expect panics.
type scripted struct {
	httpapi.Control
	mu        sync.Mutex
	submitted []phonebooth.TaskSpec
	keys      []string
	hashes    []string
	by        []control.Caller
	events    []phonebooth.Event
	more      chan struct{}
	pruned    int64 // events up to this position are gone

	submit func() (phonebooth.Task, bool, error)
	cancel func() (phonebooth.Task, error)
	tasks  func(store.TaskFilter) (store.TaskPage, error)
	log    func() (io.ReadCloser, error)
	claim  func(ctx context.Context) ([]control.Claimed, error)
	renew  func([]phonebooth.LeaseID) ([]lifecycle.Renewal, error)
	report func(phonebooth.Report) (phonebooth.Task, error)
	append func(lease phonebooth.LeaseID, offset int64, p []byte) (int64, error)
	put    func(ctx context.Context, a blob.Artifact, body io.Reader) error
	invent func([]lifecycle.Sighting) (control.InventoryAnswer, error)
	ready  error
	closed chan struct{}
}

func newScripted() *scripted {
	return &scripted{more: make(chan struct{}), closed: make(chan struct{})}
}

func (f *scripted) Submit(_ context.Context, by control.Caller, spec phonebooth.TaskSpec, key, hash string) (phonebooth.Task, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitted, f.keys, f.hashes, f.by = append(f.submitted, spec), append(f.keys, key), append(f.hashes, hash), append(f.by, by)
	if f.submit != nil {
		return f.submit()
	}
	return phonebooth.Task{TaskSpec: spec, ID: "task_1", Status: phonebooth.Queued}, false, nil
}

func (f *scripted) Task(_ context.Context, id phonebooth.TaskID) (phonebooth.Task, error) {
	if id != "task_1" {
		return phonebooth.Task{}, phonebooth.Errorf(phonebooth.NotFound, "task_unknown", "there is no task with this id")
	}
	return phonebooth.Task{ID: id, Status: phonebooth.Queued}, nil
}

func (f *scripted) Tasks(_ context.Context, filter store.TaskFilter) (store.TaskPage, error) {
	return f.tasks(filter)
}

func (f *scripted) Cancel(context.Context, control.Caller, phonebooth.TaskID) (phonebooth.Task, error) {
	return f.cancel()
}

func (f *scripted) Log(context.Context, phonebooth.TaskID, int, string, int64) (io.ReadCloser, error) {
	return f.log()
}

func (f *scripted) Claim(ctx context.Context, _ control.Caller, _ phonebooth.HostID, _ control.ClaimRequest) (control.ClaimAnswer, error) {
	claimed, err := f.claim(ctx)
	return control.ClaimAnswer{Assignments: claimed}, err
}

func (f *scripted) Renew(_ context.Context, _ control.Caller, _ phonebooth.HostID, _ int64, leases []phonebooth.LeaseID) ([]lifecycle.Renewal, error) {
	return f.renew(leases)
}

func (f *scripted) Report(_ context.Context, _ control.Caller, _ phonebooth.HostID, _ int64, _ phonebooth.LeaseID, r phonebooth.Report, _ lifecycle.DeviceWord) (phonebooth.Task, error) {
	return f.report(r)
}

func (f *scripted) AppendLog(_ context.Context, _ phonebooth.HostID, lease phonebooth.LeaseID, _ string, offset int64, p []byte) (int64, error) {
	return f.append(lease, offset, p)
}

func (f *scripted) Inventory(_ context.Context, _ control.Caller, _ phonebooth.HostID, _ phonebooth.Word, seen []lifecycle.Sighting) (control.InventoryAnswer, error) {
	return f.invent(seen)
}

func (f *scripted) EventPage(ctx context.Context, filter store.EventFilter) (store.EventPage, error) {
	span, _ := f.EventSpan(ctx)
	page := store.EventPage{Next: filter.After, Span: span}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Pos > filter.After && filter.Match(e) {
			if page.More = len(page.Events) == filter.Limit; page.More {
				break
			}
			page.Events, page.Next = append(page.Events, e), e.Pos
		}
	}
	if !page.More {
		page.Next = max(filter.After, span.Newest)
	}
	return page, control.CheckPosition(filter.After, span)
}

func (f *scripted) EventSpan(context.Context) (store.EventSpan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return store.EventSpan{Oldest: f.pruned + 1, Newest: f.pruned + int64(len(f.events))}, nil
}

func (f *scripted) EventSince(_ context.Context, at time.Time) (after int64, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.At.Before(at) {
			after = e.Pos
		}
	}
	return after, nil
}

func (f *scripted) EventsBehind(_ context.Context, pos int64) (found []phonebooth.Event, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Pos > pos && len(found) < 256 {
			found = append(found, e)
		}
	}
	return found, nil
}

func (f *scripted) LookForEvents(context.Context) error { return nil }

// prune removes the events up to a position.
func (f *scripted) prune(pos int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = slices.Clone(f.events[pos-f.pruned:])
	f.pruned = pos
}

func (f *scripted) EventsAfter(pos int64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) > 0 && f.events[len(f.events)-1].Pos > pos {
		done := make(chan struct{})
		close(done)
		return done
	}
	return f.more
}

// commit adds an event to the record.
func (f *scripted) commit(e phonebooth.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Pos = f.pruned + int64(len(f.events)+1)
	f.events = append(f.events, e)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *scripted) Policy() lifecycle.Policy { return lifecycle.NewPolicy(lifecycle.DefaultTTL) }

func (f *scripted) Ready(context.Context) error { return f.ready }

func (f *scripted) Close() { close(f.closed) }

// HostOfToken, PutToken and Now are what auth asks of a database.
func (f *scripted) HostOfToken(_ context.Context, hash string) (phonebooth.Host, error) {
	if hash != auth.Hash(hostToken) {
		return phonebooth.Host{}, store.ErrNotFound
	}
	return phonebooth.Host{ID: hostID, Name: "rack"}, nil
}

func (f *scripted) PutToken(context.Context, store.Token) error { return nil }

func (f *scripted) Now(context.Context) (time.Time, error) { return time.Unix(1_800_000_000, 0), nil }

// rig is a server over a scripted control, with what it logged.
type rig struct {
	*httptest.Server
	api *httpapi.Server
	log *lines
}

func newRig(t *testing.T, f *scripted) *rig {
	t.Helper()
	return newRigOf(t, f)
}

// database is what auth asks of one.
type database interface {
	httpapi.Control
	auth.Store
}

func newRigOf(t *testing.T, f database) *rig {
	t.Helper()
	logged := &lines{}
	api := httpapi.New(f, auth.New(f, adminToken), httpapi.Options{
		Version: "1.2.3", Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Heartbeat: 20 * time.Millisecond, Slow: time.Second,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("phonebooth_queue_depth 0\n")) }),
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return &rig{server, api, logged}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// answer is an answer that was read whole.
type answer struct {
	status  int
	header  http.Header
	body    string
	problem v1.Problem
}

// ask makes one request. header holds NAME: VALUE lines; the admin's token is sent unless one of them is Authorization.
func (r *rig) ask(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	if _, own := req.Header["Authorization"]; !own {
		req.Header.Set("Authorization", "Bearer "+adminToken)
	}
	resp, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
	if a.status >= 400 {
		if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
			t.Errorf("%s %s: a refusal of type %q: %s", method, path, ct, text)
		}
		if err := json.Unmarshal(text, &a.problem); err != nil || a.problem.Status != a.status || a.problem.Title == "" || a.problem.Detail == "" {
			t.Errorf("%s %s: got %s, want a whole problem", method, path, text)
		}
	}
	if resp.Header.Get(v1.HeaderRequestID) == "" {
		t.Errorf("%s %s: no request id", method, path)
	}
	return a
}

const asHost = "Authorization: Bearer " + hostToken
