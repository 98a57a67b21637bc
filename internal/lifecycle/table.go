package lifecycle

import "github.com/phonebooth-dev/phonebooth"

// Verb is what somebody does to a task or to one of its attempts.
type Verb string

// The verbs.
const (
	VerbSubmit          Verb = "submit"
	VerbPlace           Verb = "place"
	VerbTimeOutInQueue  Verb = "time out in queue"
	VerbCancel          Verb = "cancel"
	VerbClaim           Verb = "claim"
	VerbRenew           Verb = "renew"
	VerbReportDone      Verb = "report done"
	VerbReportFailed    Verb = "report failed"
	VerbReportCancelled Verb = "report cancelled"
	VerbAbandon         Verb = "abandon"
	VerbReport          Verb = "report anything" // any of the four above
	VerbExpire          Verb = "expire"
	VerbRelease         Verb = "release"
)

// Clause is one condition of a transition's guard.
type Clause string

// The clauses.
const (
	QueueHasRoom      Clause = "the queue has room"
	QueueFull         Clause = "the queue is full"
	QueueTimeLeft     Clause = "no queue deadline, or it is ahead"
	QueueTimePassed   Clause = "the queue deadline has passed"
	DeviceFree        Clause = "the device matches and is available"
	DeviceMismatch    Clause = "the device does not match"
	DeviceTaken       Clause = "the device is not available"
	CancelPending     Clause = "a cancellation is pending"
	NoCancelPending   Clause = "no cancellation is pending"
	AttemptsRemain    Clause = "attempts remain"
	AttemptLimit      Clause = "no attempts remain"
	LeaseRuns         Clause = "the expiry is ahead"
	LeasePast         Clause = "the expiry has passed"
	GraceRuns         Clause = "the expiry + grace is ahead"
	GracePast         Clause = "the expiry + grace has passed"
	TaskTimeLeft      Clause = "the task's timeout + 2 TTL is ahead"
	TaskTimePassed    Clause = "the task's timeout + 2 TTL has passed"
	Claimed           Clause = "it was claimed"
	NeverClaimed      Clause = "it was never claimed"
	Unreported        Clause = "it has no report"
	ReportedSame      Clause = "it has a report with this outcome"
	ReportedOtherwise Clause = "it has a report with another outcome"
	SameLine          Clause = "its agent was not taken over"
	TakenOver         Clause = "its agent was taken over"
)

// Transition is one row of the state machine. The functions of this package are what runs; the table is what people read,
// and a test holds the one against the other.
//
// An attempt ends exactly when its reservation is released. A verb that is accepted and leaves To empty changes no status.
type Transition struct {
	Verb    Verb
	From    Subject           // zero when there is no task yet
	Guard   []Clause          // all of them hold
	To      phonebooth.Status // of the task; "" when it stays as it is
	Ending  phonebooth.Ending // of the attempt; "" when it does not end here
	Refusal string            // code; "" when the verb is accepted
	Rules   string
}

// Subject is what a verb is about: a task in one of the statuses, or one of its attempts in one of the states. An ended
// attempt's task may be anywhere, at a newer attempt included.
type Subject struct {
	Name    string
	Status  []phonebooth.Status // of the task
	Attempt []phonebooth.AttemptState
}

var (
	queuedTask    = Subject{Name: "queued task", Status: []phonebooth.Status{phonebooth.Queued}}
	activeTask    = Subject{Name: "assigned or dispatched task", Status: []phonebooth.Status{phonebooth.Assigned, phonebooth.Dispatched}}
	cancelledTask = Subject{Name: "cancelled task", Status: []phonebooth.Status{phonebooth.Cancelled}}
	endedTask     = Subject{Name: "done or failed task", Status: []phonebooth.Status{phonebooth.Done, phonebooth.Failed}}
	otherTask     = Subject{Name: "task that is not queued", Status: phonebooth.Statuses()[1:]}

	assignedAttempt   = Subject{"assigned attempt", activeTask.Status[:1], []phonebooth.AttemptState{phonebooth.AttemptAssigned}}
	dispatchedAttempt = Subject{"dispatched attempt", activeTask.Status[1:], []phonebooth.AttemptState{phonebooth.AttemptDispatched}}
	liveAttempt       = Subject{"live attempt", activeTask.Status, []phonebooth.AttemptState{phonebooth.AttemptAssigned, phonebooth.AttemptDispatched}}
	endedAttempt      = Subject{"ended attempt", phonebooth.Statuses(), []phonebooth.AttemptState{phonebooth.AttemptEnded}}
)

// Table is the state machine of a task and its attempts. Every verb in every situation meets exactly one row. What does not
// depend on the situation is left out: a call about another host's lease (lease_unknown) and one by an agent that is not the
// newest life of its host (host_superseded, host_identity_conflict) are refused before anything is looked at.
var Table = []Transition{
	{Verb: VerbSubmit, Guard: []Clause{QueueHasRoom}, To: phonebooth.Queued, Rules: "S1.1"},
	{Verb: VerbSubmit, Guard: []Clause{QueueFull}, Refusal: "queue_full", Rules: "S1.2"},

	{Verb: VerbPlace, From: queuedTask, Guard: []Clause{QueueTimeLeft, DeviceFree}, To: phonebooth.Assigned, Rules: "S2.1, S5.1"},
	{Verb: VerbPlace, From: queuedTask, Guard: []Clause{QueueTimeLeft, DeviceMismatch}, Refusal: "device_mismatch", Rules: "S2.1"},
	{Verb: VerbPlace, From: queuedTask, Guard: []Clause{QueueTimeLeft, DeviceTaken}, Refusal: "device_unavailable", Rules: "S5.2"},
	{Verb: VerbPlace, From: queuedTask, Guard: []Clause{QueueTimePassed}, Refusal: "task_not_queued", Rules: "S1.5"},
	{Verb: VerbPlace, From: otherTask, Refusal: "task_not_queued", Rules: "S2.1, S9.3"},

	{Verb: VerbTimeOutInQueue, From: queuedTask, Guard: []Clause{QueueTimePassed}, To: phonebooth.Failed, Rules: "S1.5"},
	{Verb: VerbTimeOutInQueue, From: queuedTask, Guard: []Clause{QueueTimeLeft}, Refusal: "not_due", Rules: "S1.5"},
	{Verb: VerbTimeOutInQueue, From: otherTask, Refusal: "not_due", Rules: "S1.5"},

	{Verb: VerbCancel, From: queuedTask, To: phonebooth.Cancelled, Rules: "S9.1, S9.2"},
	{Verb: VerbCancel, From: activeTask, Rules: "S9.2, S9.4"},
	{Verb: VerbCancel, From: cancelledTask, Rules: "S9.4"},
	{Verb: VerbCancel, From: endedTask, Refusal: "task_ended", Rules: "S9.4"},

	{Verb: VerbClaim, From: assignedAttempt, Guard: []Clause{LeaseRuns}, To: phonebooth.Dispatched, Rules: "S6.1, S6.4"},
	{Verb: VerbClaim, From: assignedAttempt, Guard: []Clause{LeasePast}, Refusal: "lease_lost", Rules: "S6.3"},
	{Verb: VerbClaim, From: dispatchedAttempt, Refusal: "lease_lost", Rules: "S6.2"},
	{Verb: VerbClaim, From: endedAttempt, Refusal: "lease_lost", Rules: "S6.1, S9.3"},

	{Verb: VerbRenew, From: assignedAttempt, Refusal: "not_claimed", Rules: "S10.5"},
	{Verb: VerbRenew, From: dispatchedAttempt, Guard: []Clause{SameLine, LeaseRuns, TaskTimeLeft}, Rules: "S10.1, S10.2"},
	{Verb: VerbRenew, From: dispatchedAttempt, Guard: []Clause{SameLine, LeaseRuns, TaskTimePassed}, Refusal: "lease_lost", Rules: "C02"},
	{Verb: VerbRenew, From: dispatchedAttempt, Guard: []Clause{SameLine, LeasePast}, Refusal: "lease_lost", Rules: "S10.4"},
	{Verb: VerbRenew, From: dispatchedAttempt, Guard: []Clause{TakenOver}, Refusal: "lease_lost", Rules: "C10"},
	{Verb: VerbRenew, From: endedAttempt, Guard: []Clause{Claimed}, Refusal: "lease_lost", Rules: "S10.4, S9.3"},
	{Verb: VerbRenew, From: endedAttempt, Guard: []Clause{NeverClaimed}, Refusal: "not_claimed", Rules: "S10.5"},

	{Verb: VerbReportDone, From: dispatchedAttempt, Guard: []Clause{SameLine}, To: phonebooth.Done, Ending: phonebooth.EndedDone, Rules: "S8.1, S8.5"},
	{Verb: VerbReportFailed, From: dispatchedAttempt, Guard: []Clause{SameLine, NoCancelPending}, To: phonebooth.Failed, Ending: phonebooth.EndedFailed, Rules: "S8.1"},
	{Verb: VerbReportFailed, From: dispatchedAttempt, Guard: []Clause{SameLine, CancelPending}, To: phonebooth.Cancelled, Ending: phonebooth.EndedFailed, Rules: "S8.5"},
	{Verb: VerbReportCancelled, From: dispatchedAttempt, Guard: []Clause{SameLine}, To: phonebooth.Cancelled, Ending: phonebooth.EndedCancelled, Rules: "S8.1"},
	{Verb: VerbAbandon, From: dispatchedAttempt, Guard: []Clause{SameLine, NoCancelPending, AttemptsRemain}, To: phonebooth.Queued, Ending: phonebooth.EndedAbandoned, Rules: "S7.5, S7.1"},
	{Verb: VerbAbandon, From: dispatchedAttempt, Guard: []Clause{SameLine, NoCancelPending, AttemptLimit}, To: phonebooth.Failed, Ending: phonebooth.EndedAbandoned, Rules: "S7.5, S7.2"},
	{Verb: VerbAbandon, From: dispatchedAttempt, Guard: []Clause{SameLine, CancelPending}, To: phonebooth.Cancelled, Ending: phonebooth.EndedAbandoned, Rules: "S7.5, S7.3"},
	{Verb: VerbReport, From: assignedAttempt, Refusal: "not_claimed", Rules: "S10.5"},
	{Verb: VerbReport, From: dispatchedAttempt, Guard: []Clause{TakenOver}, Refusal: "lease_lost", Rules: "C10"},
	{Verb: VerbReport, From: endedAttempt, Guard: []Clause{ReportedSame}, Rules: "S8.2"},
	{Verb: VerbReport, From: endedAttempt, Guard: []Clause{ReportedOtherwise}, Refusal: "report_conflict", Rules: "S8.4"},
	{Verb: VerbReport, From: endedAttempt, Guard: []Clause{Unreported, Claimed}, Refusal: "lease_lost", Rules: "S8.3"},
	{Verb: VerbReport, From: endedAttempt, Guard: []Clause{Unreported, NeverClaimed}, Refusal: "not_claimed", Rules: "S10.5"},

	{Verb: VerbExpire, From: assignedAttempt, Guard: []Clause{LeaseRuns}, Refusal: "not_due", Rules: "S7.1"},
	{Verb: VerbExpire, From: assignedAttempt, Guard: []Clause{LeasePast, NoCancelPending, AttemptsRemain}, To: phonebooth.Queued, Ending: phonebooth.EndedExpired, Rules: "S7.1"},
	{Verb: VerbExpire, From: assignedAttempt, Guard: []Clause{LeasePast, NoCancelPending, AttemptLimit}, To: phonebooth.Failed, Ending: phonebooth.EndedExpired, Rules: "S7.2"},
	{Verb: VerbExpire, From: assignedAttempt, Guard: []Clause{LeasePast, CancelPending}, To: phonebooth.Cancelled, Ending: phonebooth.EndedExpired, Rules: "S7.3"},
	{Verb: VerbExpire, From: dispatchedAttempt, Guard: []Clause{GraceRuns}, Refusal: "not_due", Rules: "S7.1"},
	{Verb: VerbExpire, From: dispatchedAttempt, Guard: []Clause{GracePast, NoCancelPending, AttemptsRemain}, To: phonebooth.Queued, Ending: phonebooth.EndedExpired, Rules: "S7.1"},
	{Verb: VerbExpire, From: dispatchedAttempt, Guard: []Clause{GracePast, NoCancelPending, AttemptLimit}, To: phonebooth.Failed, Ending: phonebooth.EndedExpired, Rules: "S7.2"},
	{Verb: VerbExpire, From: dispatchedAttempt, Guard: []Clause{GracePast, CancelPending}, To: phonebooth.Cancelled, Ending: phonebooth.EndedExpired, Rules: "S7.3"},
	{Verb: VerbExpire, From: endedAttempt, Refusal: "not_due", Rules: "S7.4"},

	{Verb: VerbRelease, From: liveAttempt, Guard: []Clause{NoCancelPending, AttemptsRemain}, To: phonebooth.Queued, Ending: phonebooth.EndedReleased, Rules: "S7.5, S7.1"},
	{Verb: VerbRelease, From: liveAttempt, Guard: []Clause{NoCancelPending, AttemptLimit}, To: phonebooth.Failed, Ending: phonebooth.EndedReleased, Rules: "S7.5, S7.2"},
	{Verb: VerbRelease, From: liveAttempt, Guard: []Clause{CancelPending}, To: phonebooth.Cancelled, Ending: phonebooth.EndedReleased, Rules: "S7.5, S7.3"},
	{Verb: VerbRelease, From: endedAttempt, Refusal: "not_reserved", Rules: "ours"},
}
