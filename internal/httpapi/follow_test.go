package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
)

// attempt makes a host that has claimed a task.
func (h *house) attempt(t *testing.T) (agent *client.Agent, task, lease string) {
	t.Helper()
	_, _, agent = h.enroll(t, "owner")
	inventory, err := agent.Inventory(t.Context(), v1.InventoryRequest{Incarnation: 1, Seq: 1, Devices: []v1.Sighting{
		{Key: "k", Name: "Pixel", DriverType: "android", Condition: "ready"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	submitted, err := h.admin.Submit(t.Context(), v1.TaskRequest{Goal: "x"})
	if err != nil {
		t.Fatal(err)
	}
	parked := make(chan v1.ClaimAnswer, 1)
	go func() {
		answer, err := agent.Claim(t.Context(), v1.ClaimRequest{Incarnation: 1, ClaimID: "claim-01", Max: 1, WaitMS: 20_000})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		parked <- answer
	}()
	place(t, h, submitted.ID, inventory.DeviceIDs["k"])
	answer := <-parked
	if len(answer.Assignments) != 1 {
		t.Fatalf("claimed %+v", answer)
	}
	return agent, submitted.ID, answer.Assignments[0].LeaseID
}

// write fills a log with so many MiB.
func write(t *testing.T, agent *client.Agent, lease string, mib int) {
	t.Helper()
	for i := range mib {
		if _, err := agent.AppendLog(t.Context(), lease, v1.LogRunner, int64(i)<<20, bytes.Repeat([]byte("x"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestASlowReaderOfALogIsDropped reads nothing of a log that is larger than what buffers take, in either form.
func TestASlowReaderOfALogIsDropped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	agent, task, lease := h.attempt(t)
	write(t, agent, lease, 16)
	token, err := auth.AdminToken(h.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{"text/event-stream", "*/*"} {
		logged := &lines{}
		api := httpapi.New(h.control, auth.New(h.store, token), httpapi.Options{
			Slow: time.Second, Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		server := httptest.NewServer(api)
		t.Cleanup(server.Close)
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		request := "GET /v1/tasks/" + task + "/log?follow=true HTTP/1.1\r\nHost: x\r\nAccept: " + accept + "\r\nAuthorization: Bearer " + token + "\r\n\r\n"
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(logged.String(), "log stream ended"); <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the stream to a reader that reads nothing is still open", accept)
			}
		}
		if !strings.Contains(logged.String(), "i/o timeout") {
			t.Errorf("%s: got %s", accept, logged)
		}
	}
}

func TestALogThatRetentionRemovedIsNotTakenForAnEmptyOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	agent, task, lease := h.attempt(t)
	write(t, agent, lease, 1)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	token, err := auth.AdminToken(h.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	patient, err := client.New(h.url, token, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	removed := false
	for e, err := range patient.FollowLog(ctx, task, client.LogQuery{}) { // it was followed before already
		if last = err; err == nil && e.Kind == v1.LogClosed {
			t.Errorf("it was closed: %+v", e.LogMessage)
		}
		if err == nil && e.Kind == v1.LogData && !removed {
			removed = true
			files, err := blob.Open(filepath.Join(h.dir, "logs"), blob.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Expire(task, time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Report(ctx, v1.ReportRequest{Incarnation: 1, Seq: 2, LeaseID: lease, Outcome: "done"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if phonebooth.CodeOf(last) != "log_expired" {
		t.Errorf("who followed it is told %v, want log_expired", last)
	}
	for _, err := range h.admin.FollowLog(ctx, task, client.LogQuery{}) {
		if phonebooth.CodeOf(err) != "log_expired" {
			t.Errorf("who follows it now is told %v, want log_expired", err)
		}
	}
}
