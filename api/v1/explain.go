package v1

import "time"

// Explanation says why a task stands where it does. Sentences are made of the rest by [Explanation.Text], so that everybody
// shows the same words.
type Explanation struct {
	TaskID    string    `json:"task_id,omitempty" doc:"absent: the task is not submitted"`
	Status    string    `json:"status" enum:"queued,assigned,dispatched,done,failed,cancelled" doc:"queued also for a task that is not submitted"`
	At        time.Time `json:"at" doc:"the moment that is explained"`
	Sentences []string  `json:"sentences" doc:"all of it for people, the reason first"`

	Refusal     *Failure       `json:"refusal,omitempty" doc:"of a task that is not submitted: with this a submission would be refused now"`
	Wait        *Wait          `json:"wait,omitempty" doc:"of a queued task"`
	Run         *Run           `json:"run,omitempty" doc:"of an assigned or dispatched task"`
	Failure     *Failure       `json:"failure,omitempty" doc:"of a failed or cancelled task"`
	Attempts    []AttemptStory `json:"attempts" doc:"the ended ones, the first one first"`
	MaxAttempts int            `json:"max_attempts"`
	SubmittedAt *time.Time     `json:"submitted_at,omitempty"`
	FinishedAt  *time.Time     `json:"finished_at,omitempty"`
}

// Wait is what a queued task waits for.
type Wait struct {
	Known      int              `json:"known_devices" doc:"in the pool, whatever their state"`
	Clauses    []Clause         `json:"clauses" doc:"of the constraints, in the order in which they are looked at"`
	Candidates int              `json:"candidates" doc:"known devices that meet every clause"`
	States     []CandidateState `json:"states" doc:"what the candidates do; their counts add up to candidates"`
	Ahead      Ahead            `json:"ahead"`

	Next      *DeviceRef `json:"next,omitempty" doc:"the device that a pass made at this moment gives the task"`
	Planned   bool       `json:"planned,omitempty" doc:"it is in a plan that is being carried out, or was refused and is tried again in a moment"`
	Undecided bool       `json:"undecided,omitempty" doc:"so much can be placed at this moment that it was not found out whether next is set"`
	FailsAt   *time.Time `json:"fails_at,omitempty" doc:"its queue timeout"`
}

// Clause is one clause of the constraints and what it leaves of the devices that met the clauses before it.
type Clause struct {
	Clause  string      `json:"clause" enum:"driver_type,device_id,host_id,runner,tags"`
	Value   string      `json:"value" doc:"of tags: one of them"`
	Left    int         `json:"left" doc:"devices that meet this clause and all before it"`
	Lost    int         `json:"lost" doc:"devices that met all before it, but not this one"`
	Losses  []DeviceRef `json:"losses" doc:"the first few of them"`
	Meeting int         `json:"meeting" doc:"known devices that meet this clause, whatever the others say; with none no known device can ever take the task"`
	Nearest []string    `json:"nearest,omitempty" doc:"where none meets it: known values that are spelt alike"`
	Known   []string    `json:"known,omitempty" doc:"where none meets it: the first few known values"`
}

// DeviceRef names a device and its host.
type DeviceRef struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	HostID   string `json:"host_id"`
	HostName string `json:"host_name"`
}

// States of a candidate beside those of Device.Unavailable.
const (
	CandidateFree     = "free"
	CandidatePlanned  = "planned"  // in a plan that is being carried out
	CandidateReserved = "reserved" // held by an attempt
	CandidateOther    = "other"    // one of more states than are listed
)

// CandidateState is one state and the candidates in it.
type CandidateState struct {
	State   string      `json:"state" doc:"free, planned, or why the device cannot take a task now, as unavailable of a device"`
	Count   int         `json:"count"`
	Devices []Candidate `json:"devices" doc:"the first few"`
}

// Candidate is a device that meets a task's constraints.
type Candidate struct {
	Device DeviceRef  `json:"device"`
	Reason string     `json:"reason,omitempty" doc:"why it is in its state, where somebody said"`
	Since  *time.Time `json:"since,omitempty"`
	Holder *Holder    `json:"holder,omitempty" doc:"of a reserved one"`
	Then   string     `json:"then,omitempty" doc:"of a reserved one: what keeps it from tasks even when it is free again"`
	Tried  bool       `json:"tried,omitempty" doc:"an attempt of the task has ended on it: it is taken last"`
}

// Holder is the attempt that holds a device.
type Holder struct {
	TaskID          string     `json:"task_id"`
	Attempt         int        `json:"attempt"`
	MaxAttempts     int        `json:"max_attempts,omitempty"`
	State           string     `json:"state,omitempty" enum:"assigned,dispatched"`
	LeaseExpiresAt  *time.Time `json:"lease_expires_at,omitempty"`
	TimesOutAt      *time.Time `json:"times_out_at,omitempty" doc:"its host ends it then at the latest"`
	CancelRequested bool       `json:"cancel_requested,omitempty"`
}

// Ahead is the queued tasks that go before the task and could take one of its candidates.
type Ahead struct {
	Count   int          `json:"count"`
	AtLeast bool         `json:"at_least,omitempty" doc:"there may be more: counting stops at some ten thousand"`
	First   []QueuedTask `json:"first" doc:"the first few, in the order of the strategy"`
}

// QueuedTask is a task ahead.
type QueuedTask struct {
	ID          string    `json:"id"`
	Priority    int       `json:"priority"`
	SubmittedAt time.Time `json:"submitted_at"`
}

// Run is a live attempt.
type Run struct {
	Attempt         int         `json:"attempt"`
	Device          DeviceRef   `json:"device"`
	Strategy        string      `json:"strategy,omitempty" doc:"that chose the device"`
	Asked           Constraints `json:"asked" doc:"the constraints; the device met all of them"`
	AssignedAt      time.Time   `json:"assigned_at"`
	DispatchedAt    *time.Time  `json:"dispatched_at,omitempty"`
	LeaseExpiresAt  time.Time   `json:"lease_expires_at"`
	TimesOutAt      *time.Time  `json:"times_out_at,omitempty"`
	CancelRequested *time.Time  `json:"cancel_requested_at,omitempty"`
	HostTrouble     string      `json:"host_trouble,omitempty" enum:"host_silent,host_deaf" doc:"the host is not there at the moment"`
	HostSince       *time.Time  `json:"host_trouble_since,omitempty"`
}

// AttemptStory is an ended attempt with what came of it.
type AttemptStory struct {
	Attempt Attempt   `json:"attempt"`
	Device  DeviceRef `json:"device"`
	Meaning string    `json:"meaning,omitempty" doc:"of the code of its reason"`
	Next    string    `json:"next" enum:"retried,done,failed,cancelled" doc:"what became of the task with it"`
}
