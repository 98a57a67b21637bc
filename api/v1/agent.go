package v1

import "encoding/json"

// EnrollRequest turns a one-time token into a host. The agent draws its own secret; only its hash is kept. The same token
// with the same secret again is the same host.
type EnrollRequest struct {
	_      struct{} `json:"-" additionalProperties:"true"`
	Token  string   `json:"token" minLength:"1" maxLength:"255" doc:"one-time enrollment token"`
	Secret string   `json:"secret" minLength:"32" maxLength:"255" doc:"the agent's own secret, its bearer token from now on"`
	Name   string   `json:"name" minLength:"1" maxLength:"63" doc:"the host's name"`
}

// EnrollAnswer names the new host.
type EnrollAnswer struct {
	HostID string `json:"host_id"`
}

// IncarnationRequest is the first call of every start of an agent.
type IncarnationRequest struct {
	_        struct{} `json:"-" additionalProperties:"true"`
	StartID  string   `json:"start_id" minLength:"8" maxLength:"64" doc:"drawn by this life of the agent; a repeat gets the same answer"`
	Previous int64    `json:"previous" minimum:"0" doc:"the incarnation that the agent remembers; 0 for none"`
	TakeOver bool     `json:"take_over,omitempty" doc:"replace another agent that runs as this host"`
	Version  string   `json:"version,omitempty" maxLength:"64" doc:"of the agent"`
}

// IncarnationAnswer gives the new incarnation, the lease numbers, and the dispatched leases that the host still has.
type IncarnationAnswer struct {
	HostID      string      `json:"host_id"`
	Incarnation int64       `json:"incarnation"`
	Leases      []HeldLease `json:"leases"`
	Timing      Timing      `json:"timing"`
}

// Timing is the protocol's clockwork, in milliseconds.
type Timing struct {
	LeaseMS     int64 `json:"lease_ms"`
	RenewMS     int64 `json:"renew_ms" doc:"pause between renewals"`
	HeartbeatMS int64 `json:"heartbeat_ms" doc:"pause between inventories"`
	FenceMS     int64 `json:"fence_margin_ms" doc:"driving stops this long before a lease ends"`
}

// HeldLease is a lease that the control plane believes the host to hold.
type HeldLease struct {
	LeaseID   string `json:"lease_id"`
	TaskID    string `json:"task_id"`
	Attempt   int    `json:"attempt"`
	DeviceID  string `json:"device_id"`
	DeviceKey string `json:"device_key"`
}

// InventoryRequest is the host's full list of devices, and its heartbeat.
type InventoryRequest struct {
	_           struct{}   `json:"-" additionalProperties:"true"`
	Incarnation int64      `json:"incarnation"`
	Seq         int64      `json:"seq" doc:"grows with everything that this incarnation says of its devices"`
	Devices     []Sighting `json:"devices" maxItems:"256"`
}

// Sighting is one device as its host sees it.
type Sighting struct {
	_          struct{}          `json:"-" additionalProperties:"true"`
	Key        string            `json:"key" minLength:"1" maxLength:"255" doc:"the host's stable name of the device"`
	Name       string            `json:"name" maxLength:"255" doc:"what people see: a serial, usually"`
	DriverType string            `json:"driver_type" minLength:"1" maxLength:"63"`
	Tags       []string          `json:"tags,omitempty" maxItems:"64"`
	Runners    []string          `json:"runners,omitempty" maxItems:"64" doc:"offered for the device, the default first"`
	Fence      string            `json:"fence,omitempty" enum:"gate,process"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Condition  string            `json:"condition" minLength:"1" maxLength:"63"`
	Reason     string            `json:"reason,omitempty" maxLength:"1024"`
	Confirm    int64             `json:"confirm,omitempty" doc:"the number that the last answer asked to repeat for this device"`
	Probed     int64             `json:"probed,omitempty" doc:"the number of the probe that the last answer asked for, once the device has passed it"`
}

// InventoryAnswer tells the ids of the devices, and which of them are unconfirmed: those come back only by a sighting that
// repeats the number, so the agent sends another inventory at once. Devices in quarantine are to be probed once they have been
// left alone for a while; a sighting that repeats the probe's number ends the quarantine.
type InventoryAnswer struct {
	DeviceIDs map[string]string `json:"device_ids" doc:"by key"`
	Confirm   map[string]int64  `json:"confirm,omitempty" doc:"by key"`
	Probe     map[string]int64  `json:"probe,omitempty" doc:"by key: quarantined devices to be probed now"`
	Draining  bool              `json:"draining"`
}

// ClaimRequest asks for work and waits for it.
type ClaimRequest struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Incarnation int64    `json:"incarnation"`
	ClaimID     string   `json:"claim_id" minLength:"8" maxLength:"64" doc:"a repeat of one id is the same request"`
	Max         int      `json:"max" minimum:"0" maximum:"256" doc:"how many assignments to hand out at most; 0 only says that the host listens"`
	WaitMS      int64    `json:"wait_ms" minimum:"0" maximum:"25000"`
	Leaving     bool     `json:"leaving,omitempty" doc:"the agent is about to stop: its host gets no task until it asks again"`
}

// ClaimAnswer holds the assignments; none when the wait ended without.
type ClaimAnswer struct {
	Assignments []Assignment `json:"assignments"`
	Renew       bool         `json:"renew,omitempty" doc:"a cancellation waits for one of the host's leases: renew now and be told"`
}

// Assignment is one attempt for the host to run. All durations are what is left when this answer is made.
type Assignment struct {
	LeaseID         string    `json:"lease_id"`
	DeviceID        string    `json:"device_id"`
	DeviceKey       string    `json:"device_key"`
	Attempt         int       `json:"attempt"`
	Task            AgentTask `json:"task"`
	CancelRequested bool      `json:"cancel_requested" doc:"start nothing, report cancelled"`
	LeaseMS         int64     `json:"lease_ms"`
	FenceMS         int64     `json:"fence_ms" doc:"driving must stop then"`
	ParkedMS        int64     `json:"parked_ms" doc:"how long the request was kept before this answer was made"`
}

// AgentTask is what an agent must know of a task.
type AgentTask struct {
	ID             string            `json:"id"`
	Goal           string            `json:"goal,omitempty"`
	Workflow       *WorkflowRef      `json:"workflow,omitempty"`
	WorkflowSource string            `json:"workflow_source,omitempty" doc:"the text of that version"`
	Inputs         json.RawMessage   `json:"inputs,omitempty"`
	Runner         string            `json:"runner,omitempty" doc:"empty: the host's default for the driver type"`
	TimeoutMS      int64             `json:"timeout_ms"`
	Labels         map[string]string `json:"labels,omitempty"`
	MaxAttempts    int               `json:"max_attempts"`
}

// RenewalRequest renews all leases of the host in one call.
type RenewalRequest struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Incarnation int64    `json:"incarnation"`
	LeaseIDs    []string `json:"lease_ids" maxItems:"256"`
}

// RenewalAnswer has one entry a lease, in the order asked.
type RenewalAnswer struct {
	Leases []Renewal `json:"leases"`
}

// Renewal is the answer for one lease.
type Renewal struct {
	LeaseID         string `json:"lease_id"`
	Lost            string `json:"lost,omitempty" doc:"why the lease is lost; stop driving at once: expired, superseded, released, ended, timeout, not_claimed, unknown"`
	CancelRequested bool   `json:"cancel_requested,omitempty"`
	LeaseMS         int64  `json:"lease_ms,omitempty"`
	FenceMS         int64  `json:"fence_ms,omitempty"`
}

// ReportRequest tells how one attempt ended, or gives it back. A repeat is harmless.
type ReportRequest struct {
	_           struct{}        `json:"-" additionalProperties:"true"`
	Incarnation int64           `json:"incarnation"`
	Seq         int64           `json:"seq" doc:"of the device's condition"`
	LeaseID     string          `json:"lease_id"`
	Outcome     string          `json:"outcome" enum:"done,failed,cancelled,abandoned"`
	Code        string          `json:"code,omitempty" maxLength:"63"`
	Message     string          `json:"message,omitempty" maxLength:"4096"`
	Result      json.RawMessage `json:"result,omitempty"`
	Runner      string          `json:"runner,omitempty" maxLength:"63"`
	Fence       string          `json:"fence,omitempty" enum:"gate,process"`
	Condition   string          `json:"condition,omitempty" maxLength:"63" doc:"of the device now"`
	Reason      string          `json:"reason,omitempty" maxLength:"1024"`
	LogsFollow  []string        `json:"logs_follow,omitempty" maxItems:"16" doc:"the attempt's logs of which more will come, each until its end was sent"`
	Artifacts   int             `json:"artifacts,omitempty" minimum:"0" doc:"how many artifacts there will be of the attempt, when some follow the report; 0: none does"`
}

// ReportAnswer is the task as it is after the report.
type ReportAnswer struct {
	TaskID string `json:"task_id"`
	Status string `json:"status"`
}

// LogAnswer says from which offset the next log bytes are expected.
type LogAnswer struct {
	Next int64 `json:"next"`
}

// The logs of an attempt. Each has offsets of its own.
const (
	LogRunner = "runner" // what the runner wrote
	LogDevice = "device" // the commands that passed to the device
	LogEvents = "events" // the runner's events, one JSON value a line

	// Artifacts is no log: ended under this name, fewer artifacts than were announced will come.
	Artifacts = "artifacts"
)
