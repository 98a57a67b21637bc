package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func TestSubmitAnswersWithTheTask(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	a := r.ask(t, "POST", "/v1/tasks", `{"goal":"x","constraints":{"driver_type":"sim","tags":["b","a","b"]},"timeout_s":5}`, "Idempotency-Key: k-1")
	if a.status != 201 || a.header.Get("Location") != "/v1/tasks/task_1" {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}
	want := phonebooth.TaskSpec{
		Goal: "x", Timeout: 5 * time.Second, MaxAttempts: 3,
		Constraints: phonebooth.Constraints{DriverType: "sim", Tags: []string{"a", "b"}},
	}
	if diff := cmp.Diff([]phonebooth.TaskSpec{want}, f.submitted); diff != "" || f.keys[0] != "k-1" {
		t.Errorf("submitted under %q (-want +got): %s", f.keys, diff)
	}
	f.submit = func() (phonebooth.Task, bool, error) {
		return phonebooth.Task{ID: "task_1", Status: phonebooth.Done}, true, nil
	}
	a = r.ask(t, "POST", "/v1/tasks", `{"goal":"x"}`, "Idempotency-Key: k-1")
	if a.status != 200 || !strings.Contains(a.body, `"status":"done"`) {
		t.Errorf("a replay: got %d %s, want 200 with the task as it is now", a.status, a.body)
	}
}

func TestTheSameSubmissionHasTheSameHash(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for _, body := range []string{
		`{"goal":"x","constraints":{"tags":["a","b"]},"labels":{"k":"v","l":"w"}}`,
		` { "labels" : {"l":"w","k":"v"}, "max_attempts": 3, "timeout_s":1800, "constraints":{"tags":["b","a","a"]}, "goal":"\u0078"}`,
		`{"goal":"y","constraints":{"tags":["a","b"]},"labels":{"k":"v","l":"w"}}`,
		`{"goal":"x","constraints":{"tags":["a","b"]},"labels":{"k":"v","l":"w"},"priority":1}`,
	} {
		r.ask(t, "POST", "/v1/tasks", body)
	}
	h := f.hashes
	if h[0] != h[1] || h[0] == h[2] || h[0] == h[3] || h[2] == h[3] {
		t.Errorf("got %v, want the first two equal and the others not", h)
	}
}

// TestC40_GoalsAreCarriedUnharmed sends goals that tempt encoders, terminals and shells.
func TestC40_GoalsAreCarriedUnharmed(t *testing.T) {
	t.Parallel()
	f := newScripted()
	r := newRig(t, f)
	for _, goal := range []string{
		"--help", "say \"hi\" & 'bye' <b>", "two\nlines\r\n\ttab", "📱👨‍👩‍👧", "\u202eright to left", "e\u0301 is not é", "$(rm -rf /) `id` %s {{.}}",
		"\u2028 and \u2029", "\x01\x7f", strings.Repeat("界", phonebooth.MaxGoalBytes/3), "\ufffd",
	} {
		body, err := json.Marshal(v1.TaskRequest{Goal: goal})
		if err != nil {
			t.Fatal(err)
		}
		a := r.ask(t, "POST", "/v1/tasks", string(body))
		var got v1.Task
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 201 || got.Goal != goal {
			t.Errorf("%.40q: got %d %.80q, %v", goal, a.status, got.Goal, err)
		}
		if stored := f.submitted[len(f.submitted)-1].Goal; stored != goal {
			t.Errorf("%.40q: the use case got %.80q", goal, stored)
		}
	}
	if a := r.ask(t, "POST", "/v1/tasks", `{"goal":"\ud83d\udcf1 \\ud83d \\u0000"}`); a.status != 201 {
		t.Errorf("a whole pair and escaped backslashes: got %d %s", a.status, a.body)
	} else if got := f.submitted[len(f.submitted)-1].Goal; got != "📱 \\ud83d \\u0000" {
		t.Errorf("got %q", got)
	}
}

func TestCancelSaysWhetherItTookEffect(t *testing.T) {
	t.Parallel()
	for status, want := range map[phonebooth.Status]int{phonebooth.Cancelled: 200, phonebooth.Dispatched: 202, phonebooth.Assigned: 202} {
		f := newScripted()
		f.cancel = func() (phonebooth.Task, error) {
			return phonebooth.Task{ID: "task_1", Status: status, CancelRequestedAt: time.Unix(1, 0)}, nil
		}
		a := newRig(t, f).ask(t, "POST", "/v1/tasks/task_1/cancel", "")
		if a.status != want || !strings.Contains(a.body, `"cancel_requested":`+fmt.Sprint(want == 202)) {
			t.Errorf("%s: got %d %s, want %d", status, a.status, a.body, want)
		}
	}
	f := newScripted()
	f.cancel = func() (phonebooth.Task, error) {
		return phonebooth.Task{}, phonebooth.Errorf(phonebooth.Conflict, "task_ended", "it is done").With("status", "done")
	}
	if a := newRig(t, f).ask(t, "POST", "/v1/tasks/task_1/cancel", ""); a.status != 409 || a.problem.Extra["status"] != "done" {
		t.Errorf("got %d %s, want 409 that says how it ended", a.status, a.body)
	}
}

func TestTasksComeAPageAtATime(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.tasks = func(filter store.TaskFilter) (page store.TaskPage, _ error) {
		from := int64(25)
		if filter.Before > 0 {
			from = filter.Before - 1
		}
		for seq := from; seq > 0 && len(page.Tasks) < filter.Limit; seq-- {
			page.Tasks = append(page.Tasks, phonebooth.Task{ID: phonebooth.TaskID(fmt.Sprintf("task_%d", seq)), Seq: seq})
			if page.Next = seq; seq == 1 {
				page.Next = 0
			}
		}
		return page, nil
	}
	r := newRig(t, f)
	var seen []string
	cursor := ""
	for pages := 0; pages < 5; pages++ {
		a := r.ask(t, "GET", "/v1/tasks?limit=10&cursor="+cursor, "")
		var list v1.TaskList
		if err := json.Unmarshal([]byte(a.body), &list); err != nil {
			t.Fatal(err)
		}
		for _, task := range list.Tasks {
			seen = append(seen, task.ID)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 25 || seen[0] != "task_25" || seen[24] != "task_1" || cursor != "" {
		t.Errorf("got %v, next %q", seen, cursor)
	}
}

func TestTasksAreChosen(t *testing.T) {
	t.Parallel()
	f := newScripted()
	var got store.TaskFilter
	f.tasks = func(filter store.TaskFilter) (store.TaskPage, error) {
		got = filter
		return store.TaskPage{}, nil
	}
	r := newRig(t, f)
	a := r.ask(t, "GET", "/v1/tasks?status=queued,done&device_id=d&host_id=h&label=a=b&label=c=d=e&label=f&workflow=login@3&driver_type=ios,sim"+
		"&created_since=2026-03-01T12:00:00Z&created_until=2026-03-02T12:00:00%2B01:00&text=dark+Mode&limit=2", "")
	want := store.TaskFilter{
		Status: []phonebooth.Status{phonebooth.Queued, phonebooth.Done}, DeviceID: "d", HostID: "h",
		Labels:   []store.Label{{Name: "a", Value: "b"}, {Name: "c", Value: "d=e"}, {Name: "f", Any: true}},
		Workflow: "login", WorkflowVersion: 3, DriverTypes: []string{"ios", "sim"}, Text: "dark Mode", Limit: 2,
		Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" || a.body != "{\"tasks\":[]}\n" {
		t.Errorf("got %s (-want +got): %s", a.body, diff)
	}
}
