package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// DeviceWord is what a report says of the attempt's device. An empty Condition says nothing.
type DeviceWord struct {
	Word      phonebooth.Word
	Condition phonebooth.Condition
	Reason    string
}

// Finished is the answer to a report.
type Finished struct {
	Repeat  bool              // the same report was accepted before: nothing changed (S8.2)
	Task    phonebooth.Task   // as it is after the report
	Refusal *phonebooth.Error // report_conflict or lease_lost; a late report is kept as evidence by the Change all the same
}

// Finish judges a report by its attempt (design, section 6): a repeat, another outcome than before (S8.4), an attempt that
// ended without a report (S8.3), or a live one, which it ends. A lease past its expiry that the sweep has not taken is still
// live here (S8.1). An attempt of an agent that was taken over runs its course: the agent that took over cannot know whether
// it is still being driven.
func Finish(l Live, host phonebooth.HostID, incarnation int64, report phonebooth.Report, word DeviceWord, policy Policy, now time.Time) (Change, Finished, error) {
	a := l.Attempt
	if a.HostID != host {
		return Change{}, Finished{}, leaseUnknown()
	}
	if err := CheckIncarnation(l.Host, incarnation); err != nil {
		return Change{}, Finished{}, err
	}
	if !report.Outcome.Valid() {
		return Change{}, Finished{}, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"the outcome must be done, failed, cancelled or abandoned").With("pointer", "/outcome")
	}
	switch {
	case a.DispatchedAt.IsZero(): // S10.5, also when it has ended since
		return Change{}, Finished{}, notClaimed()
	case a.Reported != nil && a.Reported.Outcome == report.Outcome:
		return Change{}, Finished{Repeat: true, Task: l.Task}, nil
	case a.Reported != nil:
		return Change{}, Finished{Task: l.Task, Refusal: phonebooth.Errorf(phonebooth.Conflict, "report_conflict",
			"this attempt was already reported as %s", a.Reported.Outcome).With("reported", string(a.Reported.Outcome))}, nil
	case a.State == phonebooth.AttemptEnded:
		return keepEvidence(l, report), Finished{Task: l.Task, Refusal: leaseLost(l, "")}, nil
	case takenOver(l):
		return Change{}, Finished{Task: l.Task, Refusal: leaseLost(l, "")}, nil
	}
	report.Failure = reasonOf(report)
	l.Attempt.Reported = &report
	var c Change
	switch report.Outcome {
	case phonebooth.OutcomeAbandoned:
		c = requeue(l, phonebooth.EndedAbandoned, report.Failure, now)
	case phonebooth.OutcomeDone:
		c = settle(l, phonebooth.EndedDone, phonebooth.Done, report, now)
	case phonebooth.OutcomeCancelled:
		c = settle(l, phonebooth.EndedCancelled, phonebooth.Cancelled, report, now)
	default: // S8.5: failed with a cancellation pending is what the cancellation wanted
		status := phonebooth.Failed
		if l.Task.CancelRequested() {
			status = phonebooth.Cancelled
		}
		c = settle(l, phonebooth.EndedFailed, status, report, now)
	}
	c.deviceAfter(l, report, word, policy, now)
	return c, Finished{Task: c.Tasks[0]}, nil
}

// reasonOf is the report's failure, with a code also when the host gave none: nothing fails without a reason.
func reasonOf(report phonebooth.Report) phonebooth.Failure {
	why := report.Failure
	if why.Code != "" {
		return why
	}
	switch report.Outcome {
	case phonebooth.OutcomeFailed:
		why.Code = "runner_failed"
	case phonebooth.OutcomeCancelled:
		why.Code = "cancelled"
	case phonebooth.OutcomeAbandoned:
		why.Code = "abandoned"
	}
	return why
}

// keepEvidence keeps a late report with its attempt; the first one stays.
func keepEvidence(l Live, report phonebooth.Report) Change {
	var c Change
	if l.Attempt.Evidence != nil {
		return c
	}
	a := l.Attempt
	a.Evidence = &report
	c.attempt(a)
	c.Events = append(c.Events, phonebooth.Event{
		Kind: phonebooth.AttemptLateReport, TaskID: a.TaskID, Attempt: a.Number, DeviceID: a.DeviceID, HostID: a.HostID,
		Detail: phonebooth.EventDetail{Outcome: report.Outcome, Code: report.Failure.Code, Reason: LostReason(l)},
	})
	return c
}

// settle ends the attempt and its task together and releases the device.
func settle(l Live, ending phonebooth.Ending, status phonebooth.Status, report phonebooth.Report, now time.Time) Change {
	var c Change
	c.endAttempt(l.Attempt, ending, report.Failure, now)
	l.Task.Result = report.Result
	why := report.Failure
	if status == phonebooth.Cancelled {
		why = onRequest(why)
	}
	c.finishTask(l.Task, status, why, now)
	return c
}

func (c *Change) endAttempt(a phonebooth.Attempt, ending phonebooth.Ending, why phonebooth.Failure, now time.Time) {
	a.State, a.Ending, a.Reason, a.EndedAt = phonebooth.AttemptEnded, ending, why, now
	c.attempt(a)
	c.Release = append(c.Release, a.DeviceID)
}

// infrastructure lists the give-backs that say something about the device rather than about the task.
var infrastructure = map[string]bool{"device_lost": true, "try_again": true, "runner_killed": true}

// deviceAfter takes the host's word on the device from a report, and counts the streak that leads to quarantine.
func (c *Change) deviceAfter(l Live, report phonebooth.Report, word DeviceWord, policy Policy, now time.Time) {
	d, changed := l.Device, false
	if word.Condition != "" && word.Word.Newer(d.Word) && word.Word.Newer(l.Host.Word) {
		changed = setCondition(&d, word.Condition, word.Reason, now)
		d.Word = word.Word
	}
	quick := now.Sub(l.Attempt.DispatchedAt) <= policy.Quick()
	countStreak(&d, l.Attempt, report, quick)
	if d.Streak > l.Device.Streak {
		c.quarantine(&d, now)
	}
	if changed {
		c.deviceEvent(phonebooth.DeviceChanged, d, phonebooth.EventDetail{Condition: d.Condition, Reason: d.ConditionReason})
	}
	if changed || d.Word != l.Device.Word || d.Streak != l.Device.Streak {
		c.device(d)
	}
}
