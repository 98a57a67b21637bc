//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func TestC20_ARetryAfterALostAnswerFindsItsTask(t *testing.T) {
	t.Parallel()
	t.Run("the connection broke", func(t *testing.T) {
		t.Parallel()
		b := newBooth(t)
		p := b.server(t)
		way := cutting(t, p.url, func() {})
		task := one[v1.Task](t, b.run(t, "submit", "--server", way, "--goal", "x", "-o", "json"))
		p.onlyTask(t, task.ID)
	})
	t.Run("the control plane was killed", func(t *testing.T) {
		t.Parallel()
		b := newBooth(t)
		p := b.server(t)
		way := cutting(t, p.url, p.kill)
		submit := []string{"submit", "--server", way, "--goal", "x", "-o", "json", "--idempotency-key", "once"}
		if o := b.try(t, submit...); o.code != 5 || !strings.Contains(o.stderr, "once") {
			t.Errorf("without a control plane submit exits %d, want 5 and how to repeat: %s", o.code, o.stderr)
		}
		p.restart(t)
		task := one[v1.Task](t, b.run(t, submit...))
		p.onlyTask(t, task.ID)
	})
}

// onlyTask checks that there is one task, this one.
func (p *plane) onlyTask(t *testing.T, id string) {
	t.Helper()
	list, err := p.client.Tasks(t.Context(), client.TaskQuery{})
	if err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != id {
		t.Errorf("tasks %+v, %v, want %s alone", list.Tasks, err, id)
	}
}

// cutting is the address of something between a client and the control plane: of the first submission it passes the request
// on, waits for the answer, does what then says, and breaks the connection.
func cutting(t *testing.T, url string, then func()) string {
	t.Helper()
	var cut atomic.Bool
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		onward, _ := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.RequestURI(), bytes.NewReader(body))
		onward.Header = r.Header
		answer, err := http.DefaultClient.Do(onward)
		if err != nil {
			panic(http.ErrAbortHandler) // no control plane: no answer
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		if r.Method == http.MethodPost && cut.CompareAndSwap(false, true) {
			if answer.StatusCode != http.StatusCreated {
				t.Errorf("the submission was answered with %d %s", answer.StatusCode, text)
			}
			then()
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(text)
	}))
	t.Cleanup(between.Close)
	return between.URL
}

// encode is v as JSON.
func encode(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestC40_GoalsReachTheRunnerAndTheLogUnharmed(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	b.dev(t, "--sim", "4", "--adb", "off", "--config", b.runners(t))
	goals := map[string]string{
		"a hyphen":         "--help -x",
		"quotes":           `say "it's" $(id) ` + "`id` \\ %s %d {goal} {serial}",
		"newlines":         "one\n\ntwo\r\n\tthree",
		"emoji":            "tap 📱👩‍👩‍👧 then ✅",
		"right-to-left":    "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd \u200f!",
		"a hundred kibi":   strings.Repeat("0123456789abcdé", 100<<10)[:100<<10],
		"only white space": " x ",
	}
	for name, goal := range goals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, runner := range []string{"variable", "argument", "input"} {
				file := b.write(t, strings.ReplaceAll(name, " ", "-")+"."+runner, goal)
				source := []string{"--goal=" + goal}
				if runner == "input" {
					source = []string{"--goal-file", file}
				}
				task := one[v1.Task](t, b.run(t, append([]string{"submit", "--driver", "sim", "--runner", runner, "--wait", "-o", "json"}, source...)...))
				if task.Status != "done" || task.Goal != goal {
					t.Errorf("%s: the task is %s with the goal %.100q, want %.100q", runner, task.Status, task.Goal, goal)
				}
				got := b.run(t, "task", "log", task.ID)
				if runner == "input" {
					got = one[struct{ Goal string }](t, got).Goal
				}
				if got != goal {
					t.Errorf("%s: the runner got %.100q, want %.100q", runner, got, goal)
				}
			}
		})
	}
}

func TestC03_AMissingProgramFailsTheTaskAndFreesTheDevice(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "1", "--adb", "off", "--config", b.runners(t))
	p.waitDevices(t, 1)
	id, behind := p.submit(t, by("missing")), p.submit(t, sim("x"))
	task := p.waitStatus(t, id, "failed")
	if task.Failure.Code != "runner_missing" || task.Attempt != 1 {
		t.Errorf("the task failed with %+v in attempt %d, want runner_missing in attempt 1", task.Failure, task.Attempt)
	}
	for _, d := range p.devices(t) {
		if d.TaskID == id {
			t.Errorf("device %s is still held", d.Name)
		}
	}
	if next := p.waitStatus(t, behind, "done"); next.Attempt != 1 {
		t.Errorf("the next task took %d attempts", next.Attempt)
	}
}

func TestC24_WhatARunnerLeavesInASessionOfItsOwnIsKilled(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "1", "--adb", "off", "--config", b.runners(t))
	id := p.submit(t, by("forks"))
	eventually(t, "the runner and its child", func() bool {
		shells := 0
		for _, r := range b.runnersOf(id) {
			if r.args[0] == "sh" && len(r.args) > 1 {
				shells++
			}
		}
		return shells == 2
	})
	b.run(t, "task", "cancel", id)
	p.waitStatus(t, id, "cancelled")
	if left := b.runnersOf(id); len(left) > 0 {
		t.Errorf("alive when the attempt had ended: %v", left)
	}
}
