package phonebooth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// goal is a valid task with a goal, changed.
func goal(change func(*phonebooth.TaskSpec)) phonebooth.TaskSpec {
	s := phonebooth.TaskSpec{Goal: "open Settings"}
	if change != nil {
		change(&s)
	}
	return s.WithDefaults()
}

// pointerOf is the culprit that err names, "" for nil.
func pointerOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*phonebooth.Error](err)
	if !ok || e.Code != "invalid" || e.Kind != phonebooth.Invalid {
		t.Fatalf("got %v, want code invalid", err)
	}
	return e.Detail["pointer"]
}

func TestS1_4_Validate(t *testing.T) {
	t.Parallel()
	flow := &phonebooth.WorkflowRef{Name: "login", Version: 2}
	for _, tt := range []struct {
		name string
		spec phonebooth.TaskSpec
		want string // the culprit; "" is valid
	}{
		{"a goal", goal(nil), ""},
		{"a workflow", goal(func(s *phonebooth.TaskSpec) { s.Goal, s.Workflow = "", flow }), ""},
		{"the newest version of one", goal(func(s *phonebooth.TaskSpec) { s.Goal, s.Workflow = "", &phonebooth.WorkflowRef{Name: "login"} }), ""},
		{"both", goal(func(s *phonebooth.TaskSpec) { s.Workflow = flow }), "/goal"},
		{"neither", goal(func(s *phonebooth.TaskSpec) { s.Goal = "" }), "/goal"},
		{"an empty goal", goal(func(s *phonebooth.TaskSpec) { s.Goal = " \t\n" }), "/goal"},
		{"a workflow without a name", goal(func(s *phonebooth.TaskSpec) { s.Goal, s.Workflow = "", &phonebooth.WorkflowRef{} }), "/workflow/name"},
		{"a negative version", goal(func(s *phonebooth.TaskSpec) {
			s.Goal, s.Workflow = "", &phonebooth.WorkflowRef{Name: "login", Version: -1}
		}), "/workflow/version"},
		{"the longest timeout", goal(func(s *phonebooth.TaskSpec) { s.Timeout = phonebooth.MaxTimeout }), ""},
		{"a longer one", goal(func(s *phonebooth.TaskSpec) { s.Timeout = phonebooth.MaxTimeout + time.Second }), "/timeout_s"},
		{"a negative one", goal(func(s *phonebooth.TaskSpec) { s.Timeout = -time.Second }), "/timeout_s"},
		{"a negative queue timeout", goal(func(s *phonebooth.TaskSpec) { s.QueueTimeout = -time.Second }), "/queue_timeout_s"},
		{"ten attempts", goal(func(s *phonebooth.TaskSpec) { s.MaxAttempts = 10 }), ""},
		{"eleven", goal(func(s *phonebooth.TaskSpec) { s.MaxAttempts = 11 }), "/max_attempts"},
		{"minus one", goal(func(s *phonebooth.TaskSpec) { s.MaxAttempts = -1 }), "/max_attempts"},
		{"the lowest priority", goal(func(s *phonebooth.TaskSpec) { s.Priority = -10 }), ""},
		{"a lower one", goal(func(s *phonebooth.TaskSpec) { s.Priority = -11 }), "/priority"},
		{"a higher one", goal(func(s *phonebooth.TaskSpec) { s.Priority = 11 }), "/priority"},
		{"an empty tag", goal(func(s *phonebooth.TaskSpec) { s.Constraints.Tags = []string{"a", ""} }), "/constraints/tags/0"},
		{"a long tag", goal(func(s *phonebooth.TaskSpec) { s.Constraints.Tags = []string{strings.Repeat("x", 256)} }), "/constraints/tags/0"},
		{"65 tags", goal(func(s *phonebooth.TaskSpec) { s.Constraints.Tags = tags(65) }), "/constraints/tags"},
		{"64 tags", goal(func(s *phonebooth.TaskSpec) { s.Constraints.Tags = tags(64) }), ""},
		{"a driver type with a slash", goal(func(s *phonebooth.TaskSpec) { s.Constraints.DriverType = "a/b" }), "/constraints/driver_type"},
		{"a label's key with a space", goal(func(s *phonebooth.TaskSpec) { s.Labels = map[string]string{"a b": ""} }), "/labels"},
		{"a long label", goal(func(s *phonebooth.TaskSpec) { s.Labels = map[string]string{"a": strings.Repeat("x", 256)} }), "/labels/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := pointerOf(t, tt.spec.Validate()); got != tt.want {
				t.Errorf("got culprit %q, want %q", got, tt.want)
			}
		})
	}
}

func tags(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.Repeat("t", i+1)
	}
	return all
}

func TestC40_TextsAreCarriedOrRefusedWhole(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a dash first": "-rf /", "quotes": `"it's" \`, "newlines": "a\nb\r\n", "emoji": "tap 📱", "right to left": "\u200fשלום\u200e",
		"100 KiB": strings.Repeat("x", phonebooth.MaxGoalBytes),
	} {
		s := goal(func(s *phonebooth.TaskSpec) { s.Goal = text })
		if err := s.Validate(); err != nil || s.Goal != text {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a NUL byte": "a\x00b", "bad UTF-8": "a\xffb", "a byte more than 100 KiB": strings.Repeat("x", phonebooth.MaxGoalBytes+1),
	} {
		err := goal(func(s *phonebooth.TaskSpec) { s.Goal = text }).Validate()
		if got := pointerOf(t, err); got != "/goal" {
			t.Errorf("%s in a goal: got culprit %q", name, got)
		}
		if strings.Contains(err.Error(), text) {
			t.Errorf("%s: the rejected value is echoed", name)
		}
		label := goal(func(s *phonebooth.TaskSpec) { s.Labels = map[string]string{"k": text} }).Validate()
		if got := pointerOf(t, label); got != "/labels/k" {
			t.Errorf("%s in a label: got culprit %q", name, got)
		}
		tag := goal(func(s *phonebooth.TaskSpec) { s.Constraints.Tags = []string{text} }).Validate()
		if got := pointerOf(t, tag); got != "/constraints/tags/0" {
			t.Errorf("%s in a tag: got culprit %q", name, got)
		}
	}
}

func TestValidIdempotencyKey(t *testing.T) {
	t.Parallel()
	for key, ok := range map[string]bool{
		"build-42/attempt:1": true, strings.Repeat("k", 255): true,
		"": false, strings.Repeat("k", 256): false, "with space": false, "tab\t": false, "ключ": false, "nul\x00": false,
	} {
		if err := phonebooth.ValidIdempotencyKey(key); (err == nil) != ok {
			t.Errorf("%q: got %v, want valid %v", key, err, ok)
		}
	}
}
