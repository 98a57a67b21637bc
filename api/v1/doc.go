// Package v1 is the wire form of Phonebooth's HTTP API: paths, headers, bodies and their conversion from the vocabulary.
//
// Bodies are JSON. Durations are numbers whose name ends in _s (seconds) or _ms (milliseconds); times are RFC 3339 in UTC
// with microseconds. Unknown fields are refused, except in agent calls, which accept them so that an older control plane
// can talk with a newer agent. Errors are RFC 9457 problems with a stable code: see [Problem]. Lists come a page at a time
// with a cursor for the next.
package v1

// Headers of the API.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderRequestID      = "X-Request-Id"
	HeaderLastEventID    = "Last-Event-Id"
	// HeaderHostID may be sent with agent calls: the host that the caller believes to be. It is refused when the token is
	// another host's.
	HeaderHostID = "X-Phonebooth-Host-Id"
)

// Paths of the API; {id} and {name} stand for identifiers.
const (
	PathTasks      = "/v1/tasks"
	PathTaskBatch  = "/v1/tasks/batch"
	PathTimeline   = "/v1/timeline"
	PathDevices    = "/v1/devices"
	PathHosts      = "/v1/hosts"
	PathWorkflows  = "/v1/workflows"
	PathEvents     = "/v1/events"
	PathEnrollment = "/v1/enrollments"
	PathVersion    = "/v1/version"
	PathOverview   = "/v1/overview"

	PathAgentEnroll      = "/v1/agent/enroll"
	PathAgentIncarnation = "/v1/agent/incarnations"
	PathAgentInventory   = "/v1/agent/inventory"
	PathAgentClaims      = "/v1/agent/claims"
	PathAgentRenewals    = "/v1/agent/renewals"
	PathAgentReports     = "/v1/agent/reports"
	PathAgentLeases      = "/v1/agent/leases" // /{lease}/log, /{lease}/artifacts/{name}
)
