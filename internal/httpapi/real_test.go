package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

// house is the real thing over SQLite, but for the scheduler and the sweep.
type house struct {
	dir     string
	url     string
	store   *sqlstore.Store
	control *control.Control
	admin   *client.Client
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: t.TempDir()}
	var err error
	if h.store, err = sqlstore.Open(t.Context(), filepath.Join(h.dir, "test.db"), sqlstore.Options{}); err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(filepath.Join(h.dir, "logs"), blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(h.store, ledger.Options{})
	h.control = control.New(h.store, l, blobs, control.Options{})
	token, err := auth.AdminToken(h.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(h.control, auth.New(h.store, token), httpapi.Options{}))
	h.url = server.URL
	h.admin = h.as(t, token)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Run(ctx)
	}()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		<-ended
		if err := h.store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return h
}

func (h *house) as(t *testing.T, token string) *client.Client {
	t.Helper()
	c, err := client.New(h.url, token, client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// enroll makes a host and starts its agent.
func (h *house) enroll(t *testing.T, name string) (id, secret string, agent *client.Agent) {
	t.Helper()
	secret = auth.NewToken(auth.PrefixHost)
	e, err := h.admin.Enrollment(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	enrolled, err := h.as(t, "").Enroll(t.Context(), v1.EnrollRequest{Token: e.Token, Secret: secret, Name: "ignored"})
	if err != nil {
		t.Fatal(err)
	}
	id = enrolled.HostID
	agent = h.as(t, secret).Agent(id)
	if _, err := agent.Start(t.Context(), v1.IncarnationRequest{StartID: "start-" + name}); err != nil {
		t.Fatal(err)
	}
	return id, secret, agent
}

func TestAnEnrollmentTokenIsSpentOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e, err := h.admin.Enrollment(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(e.ExpiresAt); left < 59*time.Minute || left > 61*time.Minute {
		t.Errorf("it lives for %v, want an hour", left)
	}
	nobody := h.as(t, "")
	secrets := []string{auth.NewToken(auth.PrefixHost), auth.NewToken(auth.PrefixHost)}
	first, err := nobody.Enroll(t.Context(), v1.EnrollRequest{Token: e.Token, Secret: secrets[0], Name: "rack"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := nobody.Enroll(t.Context(), v1.EnrollRequest{Token: e.Token, Secret: secrets[0], Name: "rack"}); err != nil || again != first {
		t.Errorf("the same pair again: got %s, %v; want %s", again, err, first)
	}
	if _, err := nobody.Enroll(t.Context(), v1.EnrollRequest{Token: e.Token, Secret: secrets[1], Name: "thief"}); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("another secret: got %v", err)
	}
	if _, err := nobody.Enroll(t.Context(), v1.EnrollRequest{Token: "pb_enroll_made_up", Secret: secrets[1], Name: "thief"}); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("a made up token: got %v", err)
	}
	if err := h.store.PutToken(t.Context(), store.Token{
		Hash: auth.Hash("old"), Kind: "enrollment", CreatedAt: time.Now().Add(-2 * time.Hour), ExpiresAt: time.Now().Add(-time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Enroll(t.Context(), v1.EnrollRequest{Token: "old", Secret: secrets[1], Name: "late"}); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("an expired token: got %v", err)
	}
	if hosts, err := h.admin.Hosts(t.Context()); err != nil || len(hosts) != 1 || hosts[0].Name != "rack" {
		t.Errorf("got %+v, %v; want one host", hosts, err)
	}
}

func TestARemovedHostIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id, _, agent := h.enroll(t, "rack")
	if _, err := agent.Inventory(t.Context(), v1.InventoryRequest{Incarnation: 1, Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if err := h.admin.RemoveHost(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Inventory(t.Context(), v1.InventoryRequest{Incarnation: 1, Seq: 2}); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("got %v, want unauthenticated", err)
	}
}

func TestAnAgentWithAnotherHostsTokenIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	mine, _, _ := h.enroll(t, "mine")
	_, secret, _ := h.enroll(t, "other")
	_, err := h.as(t, secret).Agent(mine).Claim(t.Context(), v1.ClaimRequest{Incarnation: 1, ClaimID: "claim-01", Max: 1})
	if phonebooth.CodeOf(err) != "wrong_host" {
		t.Errorf("got %v, want wrong_host", err)
	}
}

// TestOnlyHashesAreStored looks for every secret in every file that the control plane wrote.
func TestOnlyHashesAreStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e, err := h.admin.Enrollment(t.Context(), "unused")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := h.enroll(t, "rack")
	admin, err := auth.AdminToken(h.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "test.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = found || bytes.Contains(text, []byte(auth.Hash(secret)))
		for name, token := range map[string]string{"admin token": admin, "enrollment token": e.Token, "host's secret": secret} {
			if bytes.Contains(text, []byte(token)) {
				t.Errorf("%s holds the %s", file, name)
			}
		}
	}
	if !found {
		t.Errorf("the hash of the host's secret is in none of %v: this test looks in the wrong place", files)
	}
}

func TestS1_4_WhatIsRefusedIsNotStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for code, req := range map[string]v1.TaskRequest{
		"invalid":          {},
		"workflow_unknown": {Workflow: &v1.WorkflowRef{Name: "nope"}},
	} {
		if _, err := h.admin.Submit(t.Context(), req); phonebooth.CodeOf(err) != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	if _, err := h.admin.Submit(t.Context(), v1.TaskRequest{Goal: "x", Workflow: &v1.WorkflowRef{Name: "nope"}}); phonebooth.CodeOf(err) != "invalid" {
		t.Errorf("both: got %v", err)
	}
	tasks, err := h.admin.Tasks(t.Context(), client.TaskQuery{})
	if err != nil || len(tasks.Tasks) != 0 {
		t.Errorf("got %+v, %v; want no task", tasks, err)
	}
	events, err := h.admin.Events(t.Context(), client.EventQuery{})
	if err != nil || len(events.Events) != 0 {
		t.Errorf("got %+v, %v; want no event", events, err)
	}
}

func TestC17_AKeyIsOneTaskForAllItsSubmitters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			task, err := h.admin.SubmitKey(t.Context(), "the-key", v1.TaskRequest{Goal: "x"})
			if err != nil {
				t.Errorf("submit: %v", err)
			}
			ids[i] = task.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("got %v, want one id", ids)
		}
	}
	if _, err := h.admin.SubmitKey(t.Context(), "the-key", v1.TaskRequest{Goal: "y"}); phonebooth.CodeOf(err) != "idempotency_key_reused" {
		t.Errorf("another body: got %v", err)
	}
}

// TestC40_GoalsComeBackFromTheDatabaseUnharmed is the round trip through client, API and SQLite.
func TestC40_GoalsComeBackFromTheDatabaseUnharmed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i, goal := range []string{"--help", "'; DROP TABLE tasks; --", "two\nlines\t\"quoted\"", "📱\u202eabc", string(bytes.Repeat([]byte("界"), phonebooth.MaxGoalBytes/3))} {
		task, err := h.admin.Submit(t.Context(), v1.TaskRequest{Goal: goal, Labels: map[string]string{"n": fmt.Sprint(i), "text": "📱 = \"x\""}})
		if err != nil {
			t.Fatal(err)
		}
		list, err := h.admin.Tasks(t.Context(), client.TaskQuery{Labels: []string{"n=" + fmt.Sprint(i), "text=📱 = \"x\""}})
		if err != nil || len(list.Tasks) != 1 || list.Tasks[0].Goal != goal || list.Tasks[0].ID != task.ID {
			t.Errorf("%.40q: got %d tasks, %v", goal, len(list.Tasks), err)
		}
	}
}

func TestEveryEventTellsWhoAskedAndUnderWhichRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(chan v1.Event, 10)
	go func() {
		defer close(got)
		for e, err := range h.admin.Follow(ctx, client.EventQuery{}) {
			if err != nil {
				return
			}
			got <- e
		}
	}()
	h.enroll(t, "rack")
	task, err := h.admin.Submit(t.Context(), v1.TaskRequest{Goal: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.admin.Cancel(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ kind, actor string }{
		{"host.enrolled", "host:ignored"}, {"host.started", "host:rack"}, {"task.submitted", "admin"}, {"task.cancelled", "admin"},
	} {
		e, ok := <-got
		if !ok || e.Kind != want.kind || e.Actor != want.actor || e.RequestID == "" || e.Pos != int64(i+1) {
			t.Fatalf("got %+v, want %s by %s", e, want.kind, want.actor)
		}
	}
}

// TestAnAttemptThroughTheAgentCalls goes from placement to log and report, and tries each call with another host's token.
func TestAnAttemptThroughTheAgentCalls(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, _, agent := h.enroll(t, "owner")
	_, _, other := h.enroll(t, "other")
	ctx := t.Context()
	inventory, err := agent.Inventory(ctx, v1.InventoryRequest{Incarnation: 1, Seq: 1, Devices: []v1.Sighting{
		{Key: "k", Name: "Pixel", DriverType: "android", Condition: "ready"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	task, err := h.admin.Submit(ctx, v1.TaskRequest{Goal: "x"})
	if err != nil {
		t.Fatal(err)
	}
	parked := make(chan []v1.Assignment, 1)
	go func() {
		got, err := agent.Claim(ctx, v1.ClaimRequest{Incarnation: 1, ClaimID: "claim-01", Max: 1, WaitMS: 20_000})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		parked <- got.Assignments
	}()
	place(t, h, task.ID, inventory.DeviceIDs["k"])
	got := <-parked
	if len(got) != 1 || got[0].Task.ID != task.ID || got[0].FenceMS >= got[0].LeaseMS {
		t.Fatalf("got %+v, want the task", got)
	}
	lease := got[0].LeaseID
	report := v1.ReportRequest{Incarnation: 1, Seq: 2, LeaseID: lease, Outcome: "done", Result: []byte(`{"ok":true}`)}
	if _, err := other.Report(ctx, report); phonebooth.CodeOf(err) != "lease_unknown" {
		t.Errorf("another host's report: got %v", err)
	}
	if _, err := other.AppendLog(ctx, lease, v1.LogRunner, 0, []byte("x")); phonebooth.CodeOf(err) != "lease_unknown" {
		t.Errorf("another host's log: got %v", err)
	}
	if r, err := other.Renew(ctx, v1.RenewalRequest{Incarnation: 1, LeaseIDs: []string{lease}}); err != nil || r.Leases[0].Lost != "unknown" {
		t.Errorf("another host's renewal: got %+v, %v", r, err)
	}
	if next, err := agent.AppendLog(ctx, lease, v1.LogRunner, 0, []byte("\x00\xffbinary\n")); err != nil || next.Next != 9 {
		t.Errorf("log: got %d, %v", next, err)
	}
	if r, err := agent.Renew(ctx, v1.RenewalRequest{Incarnation: 1, LeaseIDs: []string{lease}}); err != nil || r.Leases[0].LeaseMS == 0 {
		t.Errorf("renewal: got %+v, %v", r, err)
	}
	for range 2 { // S8.2: the same report again
		if a, err := agent.Report(ctx, report); err != nil || a.Status != "done" {
			t.Errorf("report: got %+v, %v", a, err)
		}
	}
	report.Outcome = "failed"
	if _, err := agent.Report(ctx, report); phonebooth.CodeOf(err) != "report_conflict" {
		t.Errorf("another outcome: got %v", err)
	}
	log, err := h.admin.Log(ctx, task.ID, 0, v1.LogRunner, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(log); err != nil || text.String() != "binary\n" {
		t.Errorf("log: got %q, %v", text.String(), err)
	}
}

// place does what the scheduler would.
func place(t *testing.T, h *house, task, device string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		errs := h.control.Place(t.Context(), []lifecycle.Placement{{
			TaskID: phonebooth.TaskID(task), DeviceID: phonebooth.DeviceID(device), HostID: hostOf(t, h, device),
			LeaseID: phonebooth.LeaseID("lease_of_" + task), Strategy: "test",
		}})
		if errs[0] == nil {
			return
		}
		if time.Now().After(deadline) { // until the parked claim has made the host listen
			t.Fatal(errs[0])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func hostOf(t *testing.T, h *house, device string) phonebooth.HostID {
	t.Helper()
	d, err := h.store.Device(t.Context(), phonebooth.DeviceID(device))
	if err != nil {
		t.Fatal(err)
	}
	return d.HostID
}
