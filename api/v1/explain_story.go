package v1

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
)

// run tells of a live attempt: why this device, what happens, what is pending.
func (s *speech) run(e Explanation) {
	r := e.Run
	attempt := fmt.Sprintf("attempt %d of %d", r.Attempt, e.MaxAttempts)
	if r.DispatchedAt == nil {
		s.say("It is assigned to %s (%s) for %s, and that host has another %s to fetch it.",
			r.Device.label(), attempt, s.since(r.AssignedAt), s.until(r.LeaseExpiresAt))
	} else {
		s.say("It runs on %s (%s) for %s.", r.Device.label(), attempt, s.since(*r.DispatchedAt))
	}
	why := "it was free and a task without constraints may go to any device"
	if asked := r.Asked.has(); len(asked) > 0 {
		why = "it was free and has what the task asks for: " + list(asked)
	}
	if r.Strategy != "" {
		why += "; the strategy " + r.Strategy + " chose it"
	}
	s.say("Why this device: %s.", why)
	if r.DispatchedAt != nil {
		text := fmt.Sprintf("The lease runs for another %s and is renewed while the host is well", s.until(r.LeaseExpiresAt))
		if !r.LeaseExpiresAt.After(s.now) {
			text = "The lease has run out: the attempt is ended in a moment, unless its report comes first"
		}
		if r.TimesOutAt != nil {
			text += fmt.Sprintf("; the task's timeout ends the attempt in %s at the latest", s.until(*r.TimesOutAt))
		}
		s.say("%s.", text)
	}
	s.trouble(r, e.MaxAttempts)
	s.pendingCancel(r)
}

// trouble tells what comes of a host that is not there.
func (s *speech) trouble(r *Run, most int) {
	if r.HostTrouble == "" {
		return
	}
	what := "has been silent"
	if r.HostTrouble == string(phonebooth.ReasonDeaf) {
		what = "has not asked for work"
	}
	if r.HostSince != nil {
		what += " for " + s.since(*r.HostSince)
	}
	then := "the task is tried again"
	switch {
	case r.CancelRequested != nil:
		then = "the task is cancelled"
	case r.Attempt >= most:
		then = "the task fails, for this is its last attempt"
	}
	s.say("The host %s. If it does not come back, the attempt ends when its lease has run out, and %s.", what, then)
}

func (s *speech) pendingCancel(r *Run) {
	if r.CancelRequested == nil {
		return
	}
	told := "with the next renewal of the lease"
	if r.DispatchedAt == nil {
		told = "when it fetches the task"
	}
	s.say("A cancellation was asked for %s ago. The host learns of it %s, stops the runner and reports; without a word from it the "+
		"task is cancelled when the lease runs out.", s.since(*r.CancelRequested), told)
}

// has is what a device must have, clause by clause.
func (c Constraints) has() []string {
	var all []string
	for _, cl := range []Clause{
		{Clause: string(phonebooth.MismatchDriverType), Value: c.DriverType},
		{Clause: string(phonebooth.MismatchDeviceID), Value: c.DeviceID},
		{Clause: string(phonebooth.MismatchHostID), Value: c.HostID},
		{Clause: string(phonebooth.MismatchRunner), Value: c.Runner},
	} {
		if cl.Value != "" {
			all = append(all, cl.has())
		}
	}
	for _, tag := range c.Tags {
		all = append(all, Clause{Clause: string(phonebooth.MismatchTags), Value: tag}.has())
	}
	return all
}

// end tells how a task ended, and every attempt on the way.
func (s *speech) end(e Explanation) {
	after := ""
	if e.FinishedAt != nil {
		after = ", " + s.since(*e.FinishedAt) + " ago"
		if e.SubmittedAt != nil {
			after += " and " + spoken(e.FinishedAt.Sub(*e.SubmittedAt)) + " after its submission"
		}
	}
	tries := counted(len(e.Attempts), "attempt")
	switch {
	case e.Status == string(phonebooth.Done):
		s.say("It is done after %s%s.", tries, after)
	case len(e.Attempts) == 0 && e.Failure != nil:
		s.say("It %s%s, while it was queued: no attempt was begun. %s", ended(e.Status), after, reasonOf(*e.Failure, MeaningOf(e.Failure.Code)))
	case e.Failure != nil:
		s.say("It %s after %s%s: %s", ended(e.Status), tries, after, reasonOf(*e.Failure, MeaningOf(e.Failure.Code)))
	default:
		s.say("It %s after %s%s.", ended(e.Status), tries, after)
	}
	s.stories(e)
}

func ended(status string) string {
	if status == string(phonebooth.Cancelled) {
		return "was cancelled"
	}
	return status
}

// stories tells of each ended attempt where it was, how long, how it ended and what came of it.
func (s *speech) stories(e Explanation) {
	for _, a := range e.Attempts {
		story := fmt.Sprintf("Attempt %d, on %s, %s %s", a.Attempt.Number, a.Device.label(), a.howEnded(), a.whatNext(e.MaxAttempts))
		s.say("%s", strings.TrimSpace(story))
	}
}

// howEnded is one attempt's end, as far as the full stop.
func (a AttemptStory) howEnded() string {
	at := a.Attempt
	ran := "was never begun by its host"
	if at.DispatchedAt != nil && at.EndedAt != nil {
		ran = "ran for " + spoken(at.EndedAt.Sub(*at.DispatchedAt))
	} else if at.EndedAt != nil {
		ran += " in " + spoken(at.EndedAt.Sub(at.AssignedAt))
	}
	end := map[phonebooth.Ending]string{
		phonebooth.EndedDone: "was done", phonebooth.EndedFailed: "failed", phonebooth.EndedCancelled: "was stopped on request",
		phonebooth.EndedExpired: "lost its lease", phonebooth.EndedAbandoned: "was given back by the host", phonebooth.EndedReleased: "was ended by an operator",
	}[phonebooth.Ending(at.Ending)]
	text := ran + " and " + end
	if at.Reason != nil && at.Ending != string(phonebooth.EndedDone) && at.Ending != string(phonebooth.EndedCancelled) {
		return text + ": " + reasonOf(*at.Reason, a.Meaning)
	}
	return text + "."
}

// whatNext is why the task was tried again, or was not.
func (a AttemptStory) whatNext(most int) string {
	if a.Attempt.Ending == string(phonebooth.EndedCancelled) {
		return ""
	}
	verdict := a.Attempt.Ending == string(phonebooth.EndedFailed) || a.Attempt.Ending == string(phonebooth.EndedDone)
	switch phonebooth.Status(a.Next) {
	case phonebooth.Failed:
		if verdict {
			return "A verdict of the runner is final, so it was not tried again."
		}
		return fmt.Sprintf("It was the last of %s, so the task failed.", counted(most, "attempt"))
	case phonebooth.Cancelled:
		return "A cancellation was pending, so it was not tried again."
	case phonebooth.Done:
		return ""
	}
	return "That says nothing about the task, so it was queued again."
}

// reasonOf is a failure with its code and what the code means.
func reasonOf(f Failure, meaning string) string {
	text := strings.TrimSuffix(cmp.Or(f.Message, meaning), ".")
	if text == "" {
		return f.Code + "."
	}
	if f.Message != "" && meaning != "" && !strings.EqualFold(f.Message, meaning) {
		return fmt.Sprintf("%s (%s: %s).", text, f.Code, meaning)
	}
	return fmt.Sprintf("%s (%s).", text, f.Code)
}

// MeaningOf is what a code of a failure means to a person, "" for one that is a runner's own.
func MeaningOf(code string) string {
	return map[string]string{
		"device_lost":          "the device went away",
		"try_again":            "the runner asked to be tried again",
		"agent_stopping":       "the host's agent was shut down",
		"agent_restarted":      "the host's agent was restarted",
		"fenced":               "the host could not keep the lease and stopped driving the device",
		"runner_killed":        "something else than Phonebooth killed the runner",
		"runner_failed":        "the runner says that the goal was not reached",
		"invalid_task":         "the runner cannot work on such a task",
		"credentials":          "the runner lacks credentials, or they were refused",
		"runner_misconfigured": "the runner is not set up right on its host",
		"runner_missing":       "the runner's program is not there or could not be started",
		"timeout":              "the time for one attempt was up",
		"lease_expired":        "the host stopped answering, or never fetched the task",
		"queue_timeout":        "no device became free in time",
		"released":             "an operator ended the attempt by force",
	}[code]
}

// StoryOf is the story of ended a of a task; next is what became of the task with it.
func StoryOf(a Attempt, device DeviceRef, next phonebooth.Status) AttemptStory {
	story := AttemptStory{Attempt: a, Device: device, Next: string(next)}
	if next == phonebooth.Queued {
		story.Next = "retried"
	}
	if a.Reason != nil {
		story.Meaning = MeaningOf(a.Reason.Code)
	}
	return story
}
