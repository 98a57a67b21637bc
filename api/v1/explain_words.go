package v1

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// label is how a device is named to a person.
func (r DeviceRef) label() string {
	name, host := cmp.Or(r.Name, r.ID), cmp.Or(r.HostName, r.HostID)
	if host == "" {
		return name
	}
	return name + " on " + host
}

func refLabels(refs []DeviceRef) []string {
	labels := make([]string, len(refs))
	for i, r := range refs {
		labels[i] = r.label()
	}
	return labels
}

// word is what the clause asks a value of.
func (c Clause) word() string {
	return map[phonebooth.Mismatch]string{
		phonebooth.MismatchDriverType: "driver type", phonebooth.MismatchDeviceID: "device", phonebooth.MismatchHostID: "host",
		phonebooth.MismatchRunner: "runner", phonebooth.MismatchTags: "tag",
	}[phonebooth.Mismatch(c.Clause)]
}

// has is what a device that meets the clause has.
func (c Clause) has() string {
	switch phonebooth.Mismatch(c.Clause) {
	case phonebooth.MismatchDeviceID, phonebooth.MismatchHostID:
		return "the " + c.word() + " id " + c.Value
	case phonebooth.MismatchTags:
		return fmt.Sprintf("the tag %q", c.Value)
	}
	return "the " + c.word() + " " + c.Value
}

// quoted is values of the clause as people tell them.
func (c Clause) quoted(values []string) []string {
	if c.Clause != string(phonebooth.MismatchTags) {
		return values
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strconv.Quote(v)
	}
	return all
}

// left is how many devices the clause leaves.
func (c Clause) left() string {
	switch {
	case c.Left == 0:
		return "none"
	case c.Lost == 0:
		return "all"
	}
	return strconv.Itoa(c.Left)
}

// stateWord is a state as a predicate of so many devices.
func stateWord(state string, n int) string {
	is, has := "are", "have hosts that"
	if n == 1 {
		is, has = "is", "has a host that"
	}
	condition, isCondition := strings.CutPrefix(state, "condition:")
	switch phonebooth.Reason(state) {
	case phonebooth.ReasonReserved:
		return is + " busy"
	case CandidatePlanned:
		return is + " just being given to a task"
	case CandidateFree, phonebooth.ReasonCordon:
		return is + " " + state
	case phonebooth.ReasonQuarantine:
		return is + " in quarantine"
	case phonebooth.ReasonDraining:
		return has + " " + is + " being drained"
	case phonebooth.ReasonSilent:
		return is + " out of reach, with a silent host"
	case phonebooth.ReasonDeaf:
		return has + " " + is + " not asking for work"
	}
	if isCondition {
		return is + " " + condition
	}
	return is + " in another state"
}

// shortState is a state as an attribute.
func shortState(state string) string {
	return strings.TrimPrefix(strings.TrimPrefix(stateWord(state, 1), "is "), "has ")
}

func (s *speech) since(t time.Time) string { return spoken(s.now.Sub(t)) }
func (s *speech) until(t time.Time) string { return spoken(t.Sub(s.now)) }

// spoken is a duration as a person would say it.
func spoken(d time.Duration) string {
	whole := func(unit time.Duration) int { return int(d.Round(unit) / unit) }
	switch d = max(d, 0); {
	case d < time.Second:
		return "less than 1 s"
	case whole(time.Second) < 120:
		return fmt.Sprintf("%d s", whole(time.Second))
	case whole(time.Minute) < 120:
		return fmt.Sprintf("%d min", whole(time.Minute))
	case whole(time.Hour) < 48:
		return fmt.Sprintf("%d h", whole(time.Hour))
	}
	return fmt.Sprintf("%d days", whole(24*time.Hour))
}

// counted is so many of a thing.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func isAre(n int) string {
	if n == 1 {
		return "1 device is"
	}
	return fmt.Sprintf("%d devices are", n)
}

// list joins names as in a sentence.
func list(names []string) string { return joined(names, "and") }

func either(names []string) string { return joined(names, "or") }

func joined(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

// among lists some of so many.
func among(some []string, of int) string {
	if more := of - len(some); more > 0 {
		return strings.Join(some, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return list(some)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
