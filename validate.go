package phonebooth

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what a caller may send. Over one of them the refusal names it.
const (
	MaxGoalBytes       = 100 << 10
	MaxTags            = 64
	MaxTagBytes        = 255
	MaxLabels          = 32
	MaxLabelKeyBytes   = 63
	MaxLabelValueBytes = 255
	MaxDevicesPerHost  = 256
	MaxTimeout         = 86400 * time.Second
	DefaultTimeout     = 1800 * time.Second
	MaxAttemptLimit    = 10
	DefaultMaxAttempts = 3
	MaxPriority        = 10
	MaxKeyBytes        = 255 // of an Idempotency-Key
	MaxBatchTasks      = 1000
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// WithDefaults fills what the caller left out and normalizes the constraints.
func (s TaskSpec) WithDefaults() TaskSpec {
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = DefaultMaxAttempts
	}
	s.Constraints = s.Constraints.Normalized()
	return s
}

// Validate refuses what makes no sense (S1.4). The error's detail "pointer" is the JSON pointer of the culprit.
func (s TaskSpec) Validate() error {
	hasGoal, hasWorkflow := s.Goal != "", s.Workflow != nil
	switch {
	case hasGoal && hasWorkflow:
		return invalid("/goal", "a task has either a goal or a workflow, not both; leave one of them out")
	case !hasGoal && !hasWorkflow:
		return invalid("/goal", "a task needs a goal or a workflow; give exactly one of them")
	case hasGoal && strings.TrimSpace(s.Goal) == "":
		return invalid("/goal", "the goal is empty; say what the device should do")
	case len(s.Goal) > MaxGoalBytes:
		return invalid("/goal", "the goal is longer than %d bytes", MaxGoalBytes)
	case hasWorkflow && !ValidName(s.Workflow.Name):
		return invalid("/workflow/name", "the workflow's name must be 1 to 63 letters, digits, dots, underscores and hyphens")
	case hasWorkflow && s.Workflow.Version < 0:
		return invalid("/workflow/version", "a workflow's version is a number from 1")
	case s.Timeout < time.Second || s.Timeout > MaxTimeout:
		return invalid("/timeout_s", "the timeout must be between 1 and %d seconds", int(MaxTimeout.Seconds()))
	case s.QueueTimeout < 0 || s.QueueTimeout > 365*24*time.Hour:
		return invalid("/queue_timeout_s", "the queue timeout must be between 1 second and one year")
	case s.MaxAttempts < 1 || s.MaxAttempts > MaxAttemptLimit:
		return invalid("/max_attempts", "max_attempts must be between 1 and %d", MaxAttemptLimit)
	case s.Priority < -MaxPriority || s.Priority > MaxPriority:
		return invalid("/priority", "the priority must be between -%d and %d", MaxPriority, MaxPriority)
	}
	if err := validText("/goal", s.Goal); err != nil {
		return err
	}
	if err := s.Constraints.validate(); err != nil {
		return err
	}
	return validLabels(s.Labels)
}

func (c Constraints) validate() error {
	for pointer, value := range map[string]string{
		"driver_type": c.DriverType, "runner": c.Runner, "device_id": string(c.DeviceID), "host_id": string(c.HostID),
	} {
		if value != "" && !ValidName(value) {
			return invalid("/constraints/"+pointer, "%s must be 1 to 63 letters, digits, dots, underscores and hyphens", pointer)
		}
	}
	return ValidTags("/constraints/tags", c.Tags)
}

// ValidName reports whether s can name a workflow, a runner, a driver type or a host.
func ValidName(s string) bool { return namePattern.MatchString(s) }

// ValidTags refuses more than [MaxTags] tags, and tags that are empty, too long or not clean text.
func ValidTags(pointer string, tags []string) error {
	if len(tags) > MaxTags {
		return invalid(pointer, "more than %d tags", MaxTags)
	}
	for i, tag := range tags {
		at := fmt.Sprintf("%s/%d", pointer, i)
		if tag == "" || len(tag) > MaxTagBytes {
			return invalid(at, "a tag must be 1 to %d bytes long", MaxTagBytes)
		}
		if err := validText(at, tag); err != nil {
			return err
		}
	}
	return nil
}

func validLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return invalid("/labels", "more than %d labels", MaxLabels)
	}
	for key, value := range labels {
		if !ValidName(key) {
			return invalid("/labels", "a label's key must be 1 to %d letters, digits, dots, underscores and hyphens", MaxLabelKeyBytes)
		}
		if len(value) > MaxLabelValueBytes {
			return invalid("/labels/"+key, "a label's value is longer than %d bytes", MaxLabelValueBytes)
		}
		if err := validText("/labels/"+key, value); err != nil {
			return err
		}
	}
	return nil
}

// validText refuses what a database, an environment variable or a terminal cannot carry unharmed (C40).
func validText(pointer, s string) error {
	if !utf8.ValidString(s) {
		return invalid(pointer, "the text is not valid UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return invalid(pointer, "the text holds a NUL byte")
	}
	return nil
}

// ValidIdempotencyKey refuses an empty, long or unprintable key.
func ValidIdempotencyKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return invalid("Idempotency-Key", "an Idempotency-Key must be 1 to %d bytes long", MaxKeyBytes)
	}
	for _, r := range key {
		if r < 0x21 || r > 0x7e {
			return invalid("Idempotency-Key", "an Idempotency-Key holds printable ASCII without spaces only")
		}
	}
	return nil
}

func invalid(pointer, format string, args ...any) *Error {
	return Errorf(Invalid, "invalid", format, args...).With("pointer", pointer)
}
