package v1

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Text is the explanation in sentences, the reason first. Times are told from At on, so that the text is the same in every
// zone.
func (e Explanation) Text() []string {
	s := &speech{now: e.At, planned: e.TaskID == ""}
	switch {
	case e.Wait != nil:
		s.refusal(e.Refusal)
		s.wait(*e.Wait)
		s.stories(e)
	case e.Run != nil:
		s.run(e)
		s.stories(e)
	default:
		s.end(e)
	}
	return s.said
}

// speech collects sentences.
type speech struct {
	now     time.Time
	planned bool // the task is not submitted: it would, it does not
	said    []string
}

func (s *speech) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *speech) refusal(f *Failure) {
	if f != nil {
		s.say("A submission would be refused now (%s): %s.", f.Code, f.Message)
	}
}

func (s *speech) wait(w Wait) {
	waits := "It waits"
	if s.planned {
		waits = "It would wait"
	}
	lead, certain := s.lead(w)
	switch {
	case certain:
		s.say("%s.", lead)
	default:
		s.say("%s because %s.", waits, lead)
	}
	s.impossible(w)
	s.sieve(w)
	if w.Next == nil {
		s.states(w)
	}
	s.ahead(w)
	if w.FailsAt != nil {
		s.say("If it is still queued in %s, it fails with queue_timeout.", s.until(*w.FailsAt))
	}
}

// lead is the reason why the task waits, or, certain, the whole sentence when that is about to end.
func (s *speech) lead(w Wait) (text string, certain bool) {
	free := countOf(w.States, CandidateFree)
	switch {
	case w.Next != nil && s.planned:
		return "It would start at once, on " + w.Next.label(), true
	case w.Next != nil:
		return "It is about to start: " + w.Next.label() + " is free, and the pass that gives it the device is under way", true
	case w.Planned:
		return "It is about to start: a plan that gives it a device is being carried out", true
	case w.Known == 0:
		return "the pool has no devices: no host that has one has joined yet", false
	case w.Candidates == 0:
		return s.noCandidate(w), false
	case w.Undecided:
		return fmt.Sprintf("a pass is under way; %s free for it", isAre(free)), false
	case free > 0 && w.Ahead.Count > 0:
		return fmt.Sprintf("tasks ahead of it take the %s that it could have", counted(free, "free device")), false
	case free > 0:
		return fmt.Sprintf("the strategy does not give it any of the %s that it could have", counted(free, "free device")), false
	}
	return taken(w), false
}

// noCandidate says which clause leaves nothing.
func (s *speech) noCandidate(w Wait) string {
	var never []string
	for _, c := range w.Clauses {
		if c.Meeting == 0 {
			never = append(never, c.has())
		}
	}
	if len(never) > 0 && w.Known == 1 {
		return "the only known device does not have " + strings.Join(never, ", nor ")
	}
	if len(never) > 0 {
		return fmt.Sprintf("none of the %s has %s", counted(w.Known, "known device"), strings.Join(never, ", and none has "))
	}
	return fmt.Sprintf("none of the %s meets all its constraints at once", counted(w.Known, "known device"))
}

// impossible tells the nearest names of what no device has.
func (s *speech) impossible(w Wait) {
	if w.Known == 0 {
		return
	}
	for _, c := range w.Clauses {
		switch what := c.word(); {
		case c.Meeting > 0:
		case len(c.Nearest) > 0:
			s.say("Did you mean the %s %s?", what, either(c.quoted(c.Nearest)))
		case len(c.Known) > 0:
			s.say("Known %ss are, for instance, %s.", what, list(c.quoted(c.Known)))
		default:
			s.say("No known device has any %s.", what)
		}
	}
	if w.Candidates == 0 {
		s.say("It can start only when such a device joins the pool.")
	}
}

// sieve tells what each clause leaves, when there is more than one thing to tell.
func (s *speech) sieve(w Wait) {
	if w.Known < 2 || len(w.Clauses) == 0 || w.Candidates == w.Known || len(w.Clauses) == 1 && w.Candidates == 0 {
		return
	}
	var parts []string
	left := w.Known
	for _, c := range w.Clauses {
		if left == 0 {
			break
		}
		left = c.Left
		part := fmt.Sprintf("%s leaves %s", c.has(), c.left())
		if c.Lost > 0 && c.Left > 0 {
			part += " (without " + among(refLabels(c.Losses), c.Lost) + ")"
		}
		parts = append(parts, part)
	}
	s.say("Of the %s, %s.", counted(w.Known, "known device"), strings.Join(parts, "; "))
}

// taken is what the candidates do, when none of them is free.
func taken(w Wait) string {
	meeting := " that meets its constraints"
	if w.Candidates > 1 {
		meeting = " that meet its constraints"
	}
	if len(w.Clauses) == 0 {
		meeting = " of the pool"
	}
	if len(w.States) > 1 {
		var parts []string
		for _, st := range w.States {
			parts = append(parts, fmt.Sprintf("%d %s", st.Count, stateWord(st.State, st.Count)))
		}
		return fmt.Sprintf("none of the %d devices%s can take it now: %s", w.Candidates, meeting, list(parts))
	}
	does := stateWord(w.States[0].State, w.Candidates)
	switch w.Candidates {
	case 1:
		return "the only device" + meeting + " " + does
	case 2:
		return "both devices" + meeting + " " + does
	}
	return fmt.Sprintf("all %d devices%s %s", w.Candidates, meeting, does)
}

// states tells of each listed candidate what it does.
func (s *speech) states(w Wait) {
	for _, st := range w.States {
		told := 0
		for at := 0; at < len(st.Devices); {
			tail, alike := s.doing(w, st.State, st.Devices[at]), []string{}
			for at < len(st.Devices) && s.doing(w, st.State, st.Devices[at]) == tail {
				alike = append(alike, st.Devices[at].Device.label())
				at++
			}
			told += len(alike)
			s.say("%s: %s.", list(alike), tail)
		}
		if more := st.Count - told; more > 0 {
			s.say("%d more: %s.", more, shortState(st.State))
		}
	}
}

// doing is what one candidate does, since when, and what ends it.
func (s *speech) doing(w Wait, state string, c Candidate) string {
	text := s.stateText(state, c)
	if c.Tried && w.Candidates > 1 {
		text += "; an earlier attempt ended on it, so others are tried first"
	}
	return text
}

func (s *speech) stateText(state string, c Candidate) string {
	lasting, why := "", ""
	if c.Since != nil {
		lasting = " for " + s.since(*c.Since)
	}
	if c.Reason != "" {
		why = " (" + c.Reason + ")"
	}
	condition, isCondition := strings.CutPrefix(state, "condition:")
	switch phonebooth.Reason(state) {
	case CandidateFree:
		return "free"
	case CandidatePlanned:
		return "just being given to a task"
	case phonebooth.ReasonReserved:
		return s.held(c)
	case phonebooth.ReasonCordon:
		return "kept from tasks by an operator" + lasting + why + ", until `phonebooth device uncordon " + c.Device.ID + "`"
	case phonebooth.ReasonQuarantine:
		return "in quarantine" + lasting + why + "; somebody should look at it and then `phonebooth device uncordon " + c.Device.ID + "`"
	case phonebooth.ReasonDraining:
		return "its host is being drained" + lasting + " and starts nothing new, until `phonebooth host resume " + c.Device.HostID + "`"
	case phonebooth.ReasonSilent:
		return "its host has been silent" + lasting + "; see whether the agent there is running and reaches the control plane"
	case phonebooth.ReasonDeaf:
		return "its host has not asked for work" + lasting + why + "; it counts again as soon as its agent asks"
	}
	if !isCondition {
		return "in another state"
	}
	if meaning := conditionMeaning[phonebooth.Condition(condition)]; meaning != "" {
		return condition + lasting + why + ": " + meaning
	}
	return condition + lasting + why
}

// conditionMeaning is what the conditions that Phonebooth knows mean to a person.
var conditionMeaning = map[phonebooth.Condition]string{
	phonebooth.Leased:      "its host says that an attempt is still on it",
	phonebooth.Cleaning:    "it is made ready for the next task, which takes moments",
	phonebooth.Unhealthy:   "cleaning or looking at it failed; its host tries again by itself",
	phonebooth.Offline:     "its host does not see it; is it connected and switched on?",
	phonebooth.Ambiguous:   "it cannot be told from another device",
	phonebooth.Unconfirmed: "a lease was taken from it, and its host has not confirmed yet that nothing is left on it",
	"unauthorized":         "it has not allowed this host to drive it; look at its screen",
	"booting":              "it is starting up",
}

// held is who holds a device and until when.
func (s *speech) held(c Candidate) string {
	h := c.Holder
	text := "busy with " + h.TaskID + fmt.Sprintf(", attempt %d", h.Attempt)
	if h.MaxAttempts > 0 {
		text += fmt.Sprintf(" of %d", h.MaxAttempts)
	}
	if c.Since != nil {
		text += ", for " + s.since(*c.Since)
	}
	switch {
	case h.LeaseExpiresAt == nil:
	case h.State == string(phonebooth.AttemptAssigned):
		text += "; its host has another " + s.until(*h.LeaseExpiresAt) + " to fetch it"
	default:
		text += "; the lease runs for another " + s.until(*h.LeaseExpiresAt) + " and is renewed while the host is well"
	}
	if h.TimesOutAt != nil {
		text += ", the timeout ends it in " + s.until(*h.TimesOutAt) + " at the latest"
	}
	if h.CancelRequested {
		text += "; it is being cancelled"
	}
	if c.Then != "" {
		text += "; afterwards it still " + stateWord(c.Then, 1)
	}
	return text
}

func (s *speech) ahead(w Wait) {
	verb := "are"
	if w.Ahead.Count == 1 {
		verb = "is"
	}
	switch a := w.Ahead; {
	case w.Candidates == 0 || w.Next != nil || w.Planned:
	case a.Count == 0 && a.AtLeast:
		s.say("How many tasks are ahead of it is too much to count.")
	case a.Count == 0 && countOf(w.States, CandidateFree) > 0:
	case a.Count == 0:
		s.say("It is next in line: no other task is ahead of it for %s.", theDevices(w.Candidates))
	default:
		var first []string
		for _, t := range a.First {
			first = append(first, fmt.Sprintf("%s (submitted %s ago)", t.ID, s.since(t.SubmittedAt)))
		}
		count := counted(a.Count, "queued task")
		if a.AtLeast {
			count = "more than " + count
		}
		if len(first) < a.Count {
			first = append(first, "then the others")
		}
		s.say("%s %s ahead of it for %s: %s.", capital(count), verb, theDevices(w.Candidates), strings.Join(first, ", "))
	}
}

func theDevices(n int) string {
	if n == 1 {
		return "this device"
	}
	return "these devices"
}

func countOf(states []CandidateState, state string) int {
	if i := slices.IndexFunc(states, func(st CandidateState) bool { return st.State == state }); i >= 0 {
		return states[i].Count
	}
	return 0
}
