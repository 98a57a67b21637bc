package sqlstore

import (
	"encoding/json"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// The tables, by their columns: read only.
var (
	hostTable        = describe("hosts", "h", hostColumns)
	deviceTable      = describe("devices", "d", deviceColumns)
	taskTable        = describe("tasks", "t", taskColumns)
	attemptTable     = describe("attempts", "a", attemptColumns)
	reservationTable = describe("reservations", "r", reservationColumns)
	workflowTable    = describe("workflows", "w", workflowColumns)
	eventTable       = describe("events", "e", eventColumns)
	tokenTable       = describe("tokens", "k", tokenColumns)
)

func hostColumns(h *phonebooth.Host) []column {
	return []column{
		{"id", key, text(&h.ID)},
		{"name", changes, text(&h.Name)},
		{"token_hash", changes, text(&h.TokenHash)},
		{"incarnation", changes, number(&h.Incarnation)},
		{"start_id", changes, text(&h.StartID)},
		{"version", changes, text(&h.Version)},
		{"draining_since", changes, at(&h.DrainingSince)},
		{"silent_since", changes, at(&h.SilentSince)},
		{"deaf_since", changes, at(&h.DeafSince)},
		{"deaf_reason", changes, text(&h.DeafReason)},
		{"word_incarnation", changes, number(&h.Word.Incarnation)},
		{"word_seq", changes, number(&h.Word.Seq)},
		{"heard_at", changes, at(&h.HeardAt)},
		{"polled_at", changes, at(&h.PolledAt)},
		{"registered_at", fixed, at(&h.RegisteredAt)},
		{"removed_at", changes, at(&h.RemovedAt)},
		{"rev", changes, number(&h.Rev)},
	}
}

func deviceColumns(d *phonebooth.Device) []column {
	return []column{
		{"id", key, text(&d.ID)},
		{"host_id", fixed, text(&d.HostID)},
		{"device_key", fixed, text(&d.Key)},
		{"name", changes, text(&d.Name)},
		{"driver_type", changes, text(&d.DriverType)},
		{"tags", changes, list(&d.Tags)},
		{"runners", changes, list(&d.Runners)},
		{"fence", changes, text(&d.Fence)},
		{"attributes", changes, dict(&d.Attributes)},
		{"condition", changes, text(&d.Condition)},
		{"condition_reason", changes, text(&d.ConditionReason)},
		{"condition_since", changes, at(&d.ConditionSince)},
		{"word_incarnation", changes, number(&d.Word.Incarnation)},
		{"word_seq", changes, number(&d.Word.Seq)},
		{"confirm", changes, number(&d.Confirm)},
		{"hold", changes, text(&d.Hold)},
		{"hold_reason", changes, text(&d.HoldReason)},
		{"hold_since", changes, at(&d.HoldSince)},
		{"streak", changes, number(&d.Streak)},
		{"trail", changes, list(&d.Trail)},
		{"registered_at", fixed, at(&d.RegisteredAt)},
		{"rev", changes, number(&d.Rev)},
	}
}

func taskColumns(t *phonebooth.Task) []column {
	workflow, version := workflowRef(&t.Workflow)
	failureCode, failureMessage := failure(&t.Failure)
	return []column{
		{"id", key, text(&t.ID)},
		{"seq", fixed, number(&t.Seq)},
		{"subject", fixed, text(&t.Submission.Subject)},
		{"idempotency_key", fixed, text(&t.Submission.IdempotencyKey)},
		{"body_hash", fixed, text(&t.Submission.BodyHash)},
		{"goal", fixed, text(&t.Goal)},
		{"workflow", fixed, workflow},
		{"workflow_version", fixed, version},
		{"inputs", fixed, raw(&t.Inputs)},
		{"driver_type", fixed, text(&t.Constraints.DriverType)},
		{"tags", fixed, list(&t.Constraints.Tags)},
		{"runner", fixed, text(&t.Constraints.Runner)},
		{"want_device_id", fixed, text(&t.Constraints.DeviceID)},
		{"want_host_id", fixed, text(&t.Constraints.HostID)},
		{"priority", fixed, number(&t.Priority)},
		{"timeout", fixed, span(&t.Timeout)},
		{"queue_timeout", fixed, span(&t.QueueTimeout)},
		{"max_attempts", fixed, number(&t.MaxAttempts)},
		{"labels", fixed, dict(&t.Labels)},
		{"created_at", fixed, at(&t.CreatedAt)},
		{"queue_deadline", fixed, at(&t.QueueDeadline)},
		{"rev", changes, number(&t.Rev)},
		{"status", changes, text(&t.Status)},
		{"attempt", changes, number(&t.Attempt)},
		{"device_id", changes, text(&t.DeviceID)},
		{"host_id", changes, text(&t.HostID)},
		{"cancel_requested_at", changes, at(&t.CancelRequestedAt)},
		{"failure_code", changes, failureCode},
		{"failure_message", changes, failureMessage},
		{"result", changes, raw(&t.Result)},
		{"assigned_at", changes, at(&t.AssignedAt)},
		{"dispatched_at", changes, at(&t.DispatchedAt)},
		{"finished_at", changes, at(&t.FinishedAt)},
	}
}

func attemptColumns(a *phonebooth.Attempt) []column {
	return []column{
		{"task_id", key, text(&a.TaskID)},
		{"number", key, number(&a.Number)},
		{"lease_id", fixed, text(&a.LeaseID)},
		{"host_id", fixed, text(&a.HostID)},
		{"device_id", fixed, text(&a.DeviceID)},
		{"assigned_at", fixed, at(&a.AssignedAt)},
		{"state", changes, text(&a.State)},
		{"claim_id", changes, text(&a.ClaimID)},
		{"incarnation", changes, number(&a.Incarnation)},
		{"dispatched_at", changes, at(&a.DispatchedAt)},
		{"expires_at", changes, at(&a.ExpiresAt)},
		{"ended_at", changes, at(&a.EndedAt)},
		{"ending", changes, text(&a.Ending)},
		{"reason_code", changes, text(&a.Reason.Code)},
		{"reason_message", changes, text(&a.Reason.Message)},
		{"reported", changes, report(&a.Reported)},
		{"evidence", changes, report(&a.Evidence)},
	}
}

func reservationColumns(r *phonebooth.Reservation) []column {
	return []column{
		{"device_id", key, text(&r.DeviceID)},
		{"task_id", fixed, text(&r.Attempt.TaskID)},
		{"number", fixed, number(&r.Attempt.Number)},
		{"since", fixed, at(&r.Since)},
	}
}

func workflowColumns(w *phonebooth.Workflow) []column {
	return []column{
		{"name", key, text(&w.Name)},
		{"version", key, number(&w.Version)},
		{"source", fixed, text(&w.Source)},
		{"hash", fixed, text(&w.Hash)},
		{"created_at", fixed, at(&w.CreatedAt)},
	}
}

func eventColumns(e *phonebooth.Event) []column {
	return []column{
		{"pos", key, number(&e.Pos)},
		{"at", fixed, at(&e.At)},
		{"kind", fixed, text(&e.Kind)},
		{"task_id", fixed, text(&e.TaskID)},
		{"attempt", fixed, number(&e.Attempt)},
		{"device_id", fixed, text(&e.DeviceID)},
		{"host_id", fixed, text(&e.HostID)},
		{"actor", fixed, text(&e.Actor)},
		{"request_id", fixed, text(&e.RequestID)},
		{"labels", fixed, dict(&e.Labels)},
		{"detail", fixed, jsonField[phonebooth.EventDetail]{&e.Detail, e.Detail == phonebooth.EventDetail{}}},
	}
}

func tokenColumns(k *store.Token) []column {
	return []column{
		{"hash", key, text(&k.Hash)},
		{"kind", fixed, text(&k.Kind)},
		{"name", fixed, text(&k.Name)},
		{"expires_at", fixed, at(&k.ExpiresAt)},
		{"spent_by", changes, text(&k.SpentBy)},
		{"created_at", fixed, at(&k.CreatedAt)},
	}
}

// workflowRef is two columns: the name is "" when the task has none.
func workflowRef(p **phonebooth.WorkflowRef) (name, version field) {
	ref := func() *phonebooth.WorkflowRef {
		if *p == nil {
			return &phonebooth.WorkflowRef{}
		}
		return *p
	}
	name = part[string]{func() string { return ref().Name }, func(s string) {
		if s != "" {
			*p = &phonebooth.WorkflowRef{Name: s}
		}
	}}
	version = part[int64]{func() int64 { return int64(ref().Version) }, func(n int64) { ref().Version = int(n) }}
	return name, version
}

// failure is two columns: both are "" when there is none.
func failure(p **phonebooth.Failure) (code, message field) {
	get := func() phonebooth.Failure {
		if *p == nil {
			return phonebooth.Failure{}
		}
		return **p
	}
	set := func(f phonebooth.Failure) {
		if f != (phonebooth.Failure{}) {
			*p = &f
		}
	}
	code = part[string]{func() string { return get().Code }, func(s string) { set(phonebooth.Failure{Code: s}) }}
	message = part[string]{func() string { return get().Message }, func(s string) {
		set(phonebooth.Failure{Code: get().Code, Message: s})
	}}
	return code, message
}

// reportText is a report as it lies in its column.
type reportText struct {
	Outcome phonebooth.Outcome `json:"outcome"`
	Code    string             `json:"code,omitempty"`
	Message string             `json:"message,omitempty"`
	Result  string             `json:"result,omitempty"` // as a string: what the runner said stays byte for byte
	Runner  string             `json:"runner,omitempty"`
	Fence   string             `json:"fence,omitempty"`
}

// report is JSON; nil is "".
func report(p **phonebooth.Report) field { return reportField{p} }

type reportField struct{ p **phonebooth.Report }

func (f reportField) value() any {
	r := *f.p
	if r == nil {
		return ""
	}
	return encode(reportText{r.Outcome, r.Failure.Code, r.Failure.Message, string(r.Result), r.Runner, r.Fence})
}

func (f reportField) Scan(src any) error {
	s, ok := src.(string)
	if !ok || s == "" {
		*f.p = nil
		return expect(ok, "text", src)
	}
	var r reportText
	if err := json.Unmarshal([]byte(s), &r); err != nil {
		return err
	}
	*f.p = &phonebooth.Report{
		Outcome: r.Outcome, Failure: phonebooth.Failure{Code: r.Code, Message: r.Message}, Runner: r.Runner, Fence: r.Fence,
	}
	if r.Result != "" {
		(*f.p).Result = json.RawMessage(r.Result)
	}
	return nil
}
