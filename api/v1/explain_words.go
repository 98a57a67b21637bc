package v1

import (
	"cmp"
	"fmt"
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

// stateWord is a state as a predicate of so many devices.
func stateWord(state string, n int) string {
	is, has, does := "are", "have hosts that are", "are"
	if n == 1 {
		is, has, does = "is", "has a host that is", "is"
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
		return has + " being drained"
	case phonebooth.ReasonSilent:
		return has + " silent"
	case phonebooth.ReasonDeaf:
		return has + " not asking for work"
	}
	if isCondition {
		return does + " " + condition
	}
	return does + " in another state"
}

// shortState is a state as an attribute.
func shortState(state string) string {
	return strings.TrimPrefix(strings.TrimPrefix(stateWord(state, 1), "is "), "has ")
}

func (s *speech) since(t time.Time) string { return spoken(s.now.Sub(t)) }
func (s *speech) until(t time.Time) string { return spoken(t.Sub(s.now)) }

// spoken is a duration as a person would say it.
func spoken(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return "less than 1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
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

func numberOf(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
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
