package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// listener follows a task's logs in the background. Its story is what it was told, with the bytes of one attempt put together.
type listener struct {
	mu     sync.Mutex
	said   [][]byte
	offset int64
	err    error
	over   chan struct{}
}

func listen(t *testing.T, sys *servertest.System, task string, q client.LogQuery) *listener {
	t.Helper()
	l := &listener{over: make(chan struct{})}
	c := sys.Client(t)
	go func() {
		defer close(l.over)
		for e, err := range c.FollowLog(t.Context(), task, q) {
			l.take(t, e, err)
		}
	}()
	return l
}

func (l *listener) take(t *testing.T, e client.LogEvent, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = err
		return
	}
	if e.Kind == v1.LogAttempt {
		l.offset = e.Offset
	}
	if e.Kind != v1.LogEnd && e.Offset != l.offset {
		t.Errorf("%s at offset %d, want %d", e.Kind, e.Offset, l.offset)
	}
	switch e.Kind {
	case v1.LogAttempt:
		l.said = append(l.said, fmt.Appendf(nil, "attempt %d", e.Attempt), nil)
	case v1.LogData:
		l.said[len(l.said)-1] = append(l.said[len(l.said)-1], e.Data...)
		l.offset += int64(len(e.Data))
	case v1.LogGap:
		l.said[len(l.said)-1] = fmt.Appendf(l.said[len(l.said)-1], "<%d>", e.Bytes)
		l.offset += e.Bytes
	case v1.LogClosed:
		l.said = append(l.said, fmt.Appendf(nil, "closed %d: %v%s", e.Attempt, e.Complete, e.Reason))
	case v1.LogEnd:
		l.said = append(l.said, []byte(e.Status))
	}
}

// story is what it was told so far.
func (l *listener) story() (story []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range l.said {
		story = append(story, string(part))
	}
	return story
}

// heard waits until a part of the story ends with text.
func (l *listener) heard(t *testing.T, text string) {
	t.Helper()
	servertest.Wait(t, fmt.Sprintf("the follower to be told of %q", text), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.ContainsFunc(l.said, func(part []byte) bool { return bytes.HasSuffix(part, []byte(text)) })
	})
}

// tells waits for the end and compares the story.
func (l *listener) tells(t *testing.T, want ...string) {
	t.Helper()
	select {
	case <-l.over:
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream did not end")
	}
	if story := l.story(); l.err != nil || !slices.Equal(story, want) {
		t.Errorf("the story is %.2000q, %v; want %.2000q", fmt.Sprint(story), l.err, fmt.Sprint(want))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestC38_AFollowedLogIsWholeOverARestartAndARetry(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		early := listen(t, sys, task.ID, client.LogQuery{})
		first := host.ClaimOne(t)
		write := func(a v1.Assignment, offset int64, text string) {
			t.Helper()
			_, err := host.AppendLog(t, a.LeaseID, offset, text)
			must(t, err)
		}
		write(first, 0, "one\n")
		early.heard(t, "one\n")
		write(first, 0, "one\ntwo\n")
		sys.Restart(t)
		write(first, 8, "three\n")
		early.heard(t, "three\n")
		host.MustReport(t, v1.ReportRequest{LeaseID: first.LeaseID, Outcome: "abandoned", Code: "try_again", Condition: "ready"})
		early.heard(t, "closed 1: true")
		second := host.ClaimOne(t)
		write(second, 0, "again\xff\n")
		newest := listen(t, sys, task.ID, client.LogQuery{Offset: 2})
		only := listen(t, sys, task.ID, client.LogQuery{Attempt: 1})
		all := listen(t, sys, task.ID, client.LogQuery{All: true})
		host.MustReport(t, v1.ReportRequest{LeaseID: second.LeaseID, Outcome: "done"})
		story := []string{"attempt 1", "one\ntwo\nthree\n", "closed 1: true", "attempt 2", "again\xff\n", "closed 2: true", "done"}
		early.tells(t, story...)
		all.tells(t, story...)
		newest.tells(t, "attempt 2", "ain\xff\n", "closed 2: true", "done")
		<-only.over
		if got := only.story(); len(got) != 4 || !slices.Equal(got[:3], story[:3]) {
			t.Errorf("attempt 1 alone is %q", got)
		}
		listen(t, sys, task.ID, client.LogQuery{All: true}).tells(t, story...) // behind the end
	})
}

func TestAReportThatOvertakesItsLogEndsNobodysFollowing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		l := listen(t, sys, task.ID, client.LogQuery{All: true})
		other := listen(t, sys, task.ID, client.LogQuery{Name: v1.LogDevice})
		_, err := host.AppendLog(t, a.LeaseID, 0, "begun, ")
		must(t, err)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", LogsFollow: []string{v1.LogRunner}})
		other.tells(t, "attempt 1", "", "closed 1: true", "done")
		now := listen(t, sys, task.ID, client.LogQuery{Now: true})
		now.tells(t, "attempt 1", "begun, ", "closed 1: falseits host has not sent the end of it yet", "done")
		_, err = host.AppendLog(t, a.LeaseID, 7, "going on")
		must(t, err)
		l.heard(t, "going on")
		sys.Restart(t)
		agent := host.Agent(t)
		if err := agent.EndLog(t.Context(), a.LeaseID, v1.LogRunner, 17); phonebooth.CodeOf(err) != "log_gap" {
			t.Errorf("an end beyond what there is: %v, want log_gap", err)
		}
		_, err = host.AppendLog(t, a.LeaseID, 15, ", over")
		must(t, err)
		must(t, agent.EndLog(t.Context(), a.LeaseID, v1.LogRunner, 21))
		l.tells(t, "attempt 1", "begun, going on, over", "closed 1: true", "done")
		_, err = host.Report(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done", LogsFollow: []string{"other"}})
		if phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("an unknown log is announced: %v", err)
		}
	})
}

func TestALogWhoseEndMayBeMissingSaysSo(t *testing.T) {
	servertest.EachWith(t, servertest.Options{TTL: 6 * time.Second}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
		a := host.ClaimOne(t)
		_, err := host.AppendLog(t, a.LeaseID, 0, "half of i")
		must(t, err)
		l := listen(t, sys, task.ID, client.LogQuery{})
		l.heard(t, "half of i")
		must(t, sys.Release(t, host.DeviceID("p1"))) // the agent is never heard of again
		l.tells(t, "attempt 1", "half of i", "closed 1: falsethe attempt has ended without a word of its host", "failed")
		// A log of which more was announced waits for its host, and no longer than that is there.
		host.MustInventory(t)
		sys.WaitDevice(t, host.DeviceID("p1"), func(d v1.Device) bool { return d.Unavailable == "" })
		task = sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 1})
		a = host.ClaimOne(t)
		l = listen(t, sys, task.ID, client.LogQuery{})
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "failed", Code: "runner_failed", LogsFollow: []string{v1.LogRunner}})
		l.tells(t, "attempt 1", "", "closed 1: falseits host is silent, and has not sent the end of it", "failed")
	})
}

func TestTasksThatNeverBeganHaveNothingToFollow(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		l := listen(t, sys, task.ID, client.LogQuery{All: true})
		listen(t, sys, task.ID, client.LogQuery{Now: true}).tells(t, "queued")
		sys.Cancel(t, task.ID)
		l.tells(t, "cancelled")
		path := v1.PathTasks + "/" + task.ID + "/log?follow=true"
		if status, header, body := sys.Fetch(t, path, nil); status != 200 || body != "" || header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("as text: %d %q, %v", status, body, header)
		}
		for query, code := range map[string]string{"&attempt=1": "attempt_unknown", "&attempt=7": "attempt_unknown", "&attempt=-1": "invalid", "&name=x": "invalid"} {
			if _, p := sys.Raw(t, "GET", path+query, ""); p.Code != code {
				t.Errorf("%s is refused as %q, want %s", query, p.Code, code)
			}
		}
		for id, want := range map[string]int{"1:0": 200, "2:0": 422, "0:0": 422, "x": 422, "1:-1": 422} {
			status, _, _ := sys.Fetch(t, path, http.Header{"Accept": {"text/event-stream"}, "Last-Event-ID": {id}})
			if want == 422 && status != 422 && status != 404 || want == 200 && status != 200 {
				t.Errorf("Last-Event-ID %s: %d, want %d", id, status, want)
			}
		}
		if _, p := sys.Raw(t, "GET", v1.PathTasks+"/task_x/log?follow=true", ""); p.Code != "task_unknown" {
			t.Errorf("of an unknown task: %q", p.Code)
		}
	})
}

func TestPlainTextIsFollowedByteByByte(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		a := host.ClaimOne(t)
		_, err := host.AppendLog(t, a.LeaseID, 0, "one")
		must(t, err)
		l := listen(t, sys, task.ID, client.LogQuery{})
		type answer struct {
			status int
			body   string
		}
		got := make(chan answer, 1)
		go func() {
			status, _, body := sys.Fetch(t, v1.PathTasks+"/"+task.ID+"/log?follow=true&offset=1", nil)
			got <- answer{status, body}
		}()
		l.heard(t, "one")
		_, err = host.AppendLog(t, a.LeaseID, 3, " two")
		must(t, err)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
		if a := <-got; a.status != 200 || a.body != "ne two" {
			t.Errorf("got %d %q", a.status, a.body)
		}
		l.tells(t, "attempt 1", "one two", "closed 1: true", "done")
	})
}

func TestC37_OfALongLogTheMiddleIsLeftOutForFollowersToo(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	host := sys.Host(t, "h1", servertest.Phone("p1"))
	task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
	a := host.ClaimOne(t)
	const mib = 1 << 20
	kept := func(i int64) string { return strings.Repeat(string(rune('a'+i)), mib) }
	for i := range int64(20) {
		_, err := host.AppendLog(t, a.LeaseID, i*mib, kept(i))
		must(t, err)
	}
	host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "done"})
	var whole strings.Builder
	for i := range int64(20) {
		switch {
		case i == 8:
			fmt.Fprintf(&whole, "<%d>", 4*mib)
		case i < 8 || i > 11:
			whole.WriteString(kept(i))
		}
	}
	for range 2 {
		listen(t, sys, task.ID, client.LogQuery{}).tells(t, "attempt 1", whole.String(), "closed 1: true", "done")
	}
	const head = 8 * mib
	for _, c := range []struct {
		what      string
		offset, n int64
		want      string
	}{
		{"in the head", head - 4, 2, "hh"},
		{"up to the end of the head", head - 4, 4, "hhhh"},
		{"from the head into what was left out", head - 2, 12, "hh" + client.LeftOut(10)},
		{"left out", head + 5, 10, client.LeftOut(10)},
		{"from what was left out into the tail", head + 4*mib - 10, 14, client.LeftOut(10) + "mmmm"},
		{"all around it", head - 1, 4*mib + 5, "h" + client.LeftOut(4*mib) + "mmmm"},
		{"from one segment into the next", 13*mib - 1, 3, "mnn"},
		{"longer than the log", 20*mib - 3, 99, "ttt"},
		{"nothing", 7, 0, ""},
	} {
		var out strings.Builder
		err := sys.Client(t).CopySection(t.Context(), &out, task.ID, client.LogQuery{Attempt: 1, Offset: c.offset}, c.n)
		if err != nil || out.String() != c.want {
			t.Errorf("%s: %.200q, %v; want %q", c.what, out.String(), err, c.want)
		}
	}
}

// Not beside other tests: it counts goroutines.
func TestAThousandFollowersLeaveNothingBehind(t *testing.T) {
	sys := servertest.Start(t, servertest.Options{}, "")
	host := sys.Host(t, "h1", servertest.Phone("p1"))
	task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
	a := host.ClaimOne(t)
	_, err := host.AppendLog(t, a.LeaseID, 0, "hello")
	must(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	c := sys.ClientWith(t, client.Options{Patience: -1, Transport: transport})
	connect := func(ctx context.Context) error {
		for e, err := range c.FollowLog(ctx, task.ID, client.LogQuery{}) {
			if err != nil || e.Kind == v1.LogData {
				return err
			}
		}
		return errors.New("it ended before anything was told")
	}
	must(t, connect(t.Context()))
	before, began := runtime.NumGoroutine(), time.Now()
	var all sync.WaitGroup
	slots := make(chan struct{}, 100)
	for range 1000 {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := connect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("1,000 follows in %v", time.Since(began))
	servertest.Wait(t, "the followers' goroutines to end", func() bool { return runtime.NumGoroutine() <= before+5 })
}
