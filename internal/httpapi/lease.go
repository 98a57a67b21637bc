package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// registerLeases adds what an agent says and asks of the leases that it holds. Another host's lease is an unknown one.
func (s *Server) registerLeases() {
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentRenewals, id: "renew-leases", tag: "agent", access: onlyHost, lenient: true,
		summary: "Renew leases",
		description: "All of the host's in one call; each is answered for itself, in the order asked. An answer with lost means that " +
			"driving must stop at once.",
		codes: []string{"host_unknown", "host_superseded", "host_identity_conflict", "outcome_unknown"},
	}, s.renew)
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentReports, id: "report", tag: "agent", access: onlyHost, lenient: true,
		summary: "Report how an attempt ended, or give it back",
		description: "A repeat is answered like the first. lease_lost and report_conflict are final: the agent stops repeating. A report " +
			"that comes too late is kept with its attempt all the same.",
		codes: []string{
			"lease_unknown", "lease_lost", "not_claimed", "report_conflict", "host_superseded", "host_identity_conflict", "outcome_unknown",
		},
	}, s.report)
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentLeases + "/{id}/log", id: "append-log", tag: "agent", access: onlyHost, lenient: true,
		summary: "Append to an attempt's log",
		description: "At most 1 MiB of the bytes that the runner wrote; offset counts them all. What was stored before is ignored. " +
			"Accepted until ten minutes after the attempt's end.",
		codes: []string{"lease_unknown", "lease_lost", "log_gap"},
	}, s.appendLog)
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentLeases + "/{id}/log/end", id: "end-log", tag: "agent", access: onlyHost, lenient: true,
		summary: "Say that an attempt's log is whole",
		description: "Whoever announced in a report that more of a log would come (logs_follow) says so when it has. Bytes that are missing " +
			"are a gap. Accepted as long as log bytes are.",
		codes: []string{"lease_unknown", "lease_lost", "log_gap"},
	}, s.endLog)
}

type renewInput struct{ Body v1.RenewalRequest }

type renewOutput struct{ Body v1.RenewalAnswer }

func (s *Server) renew(ctx context.Context, in *renewInput) (*renewOutput, error) {
	leases := make([]phonebooth.LeaseID, len(in.Body.LeaseIDs))
	for i, id := range in.Body.LeaseIDs {
		leases[i] = phonebooth.LeaseID(id)
	}
	renewals, err := s.control.Renew(ctx, callerOf(ctx), hostOf(ctx), in.Body.Incarnation, leases)
	if err != nil {
		return nil, err
	}
	out := &renewOutput{Body: v1.RenewalAnswer{Leases: []v1.Renewal{}}}
	for i, r := range renewals {
		out.Body.Leases = append(out.Body.Leases, v1.Renewal{
			LeaseID: in.Body.LeaseIDs[i], Lost: r.Lost, CancelRequested: r.CancelRequested,
			LeaseMS: r.Lease.Milliseconds(), FenceMS: r.Fence.Milliseconds(),
		})
	}
	return out, nil
}

type reportInput struct{ Body v1.ReportRequest }

type reportOutput struct{ Body v1.ReportAnswer }

func (s *Server) report(ctx context.Context, in *reportInput) (*reportOutput, error) {
	b := in.Body
	report := phonebooth.Report{
		Outcome: phonebooth.Outcome(b.Outcome), Failure: phonebooth.Failure{Code: b.Code, Message: b.Message},
		Result: b.Result, Runner: b.Runner, Fence: b.Fence,
	}
	word := lifecycle.DeviceWord{
		Word:      phonebooth.Word{Incarnation: b.Incarnation, Seq: b.Seq},
		Condition: phonebooth.Condition(b.Condition), Reason: b.Reason,
	}
	if err := s.expectLogs(ctx, b); err != nil {
		return nil, err
	}
	t, err := s.control.Report(ctx, callerOf(ctx), hostOf(ctx), b.Incarnation, phonebooth.LeaseID(b.LeaseID), report, word)
	if err != nil {
		return nil, err
	}
	return &reportOutput{Body: v1.ReportAnswer{TaskID: string(t.ID), Status: string(t.Status)}}, nil
}

// expectLogs notes what a report announces. How the attempt ended must arrive all the same, so a lease whose logs are closed
// and a disk that is full are no reason to refuse it.
func (s *Server) expectLogs(ctx context.Context, b v1.ReportRequest) error {
	if b.Artifacts > 0 {
		if err := s.control.ExpectArtifacts(ctx, hostOf(ctx), phonebooth.LeaseID(b.LeaseID), b.Artifacts); err != nil {
			s.log.Warn("artifacts that follow their report were not noted", "request_id", requestOf(ctx).id, "err", err)
		}
	}
	if len(b.LogsFollow) == 0 {
		return nil
	}
	for _, name := range b.LogsFollow {
		if !slices.Contains(logNames, name) {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "there is no such log; there are: %s", strings.Join(logNames, ", ")).With("pointer", "/logs_follow")
		}
	}
	if err := s.control.ExpectLogs(ctx, hostOf(ctx), phonebooth.LeaseID(b.LeaseID), b.LogsFollow); err != nil {
		s.log.Warn("a log that follows its report was not noted", "request_id", requestOf(ctx).id, "err", err)
	}
	return nil
}

// logNames are the logs that an attempt has.
var logNames = []string{v1.LogRunner, v1.LogDevice, v1.LogEvents}

type appendLogInput struct {
	ID      string `path:"id" doc:"the lease's id"`
	Name    string `query:"name" enum:"runner,device,events" default:"runner" doc:"which of the attempt's logs"`
	Offset  int64  `query:"offset" minimum:"0" doc:"of the first byte, counted over all of that log"`
	RawBody []byte
}

type appendLogOutput struct{ Body v1.LogAnswer }

func (s *Server) appendLog(ctx context.Context, in *appendLogInput) (*appendLogOutput, error) {
	next, err := s.control.AppendLog(ctx, hostOf(ctx), phonebooth.LeaseID(in.ID), in.Name, in.Offset, in.RawBody)
	if err != nil {
		return nil, err
	}
	return &appendLogOutput{Body: v1.LogAnswer{Next: next}}, nil
}

type endLogInput struct {
	ID   string `path:"id" doc:"the lease's id"`
	Name string `query:"name" enum:"runner,device,events,artifacts" default:"runner" doc:"which of the attempt's logs; artifacts: no more of those will come, however many were announced"`
	Size int64  `query:"size" minimum:"0" doc:"its bytes, all of them"`
}

func (s *Server) endLog(ctx context.Context, in *endLogInput) (*struct{}, error) {
	if in.Name == v1.Artifacts {
		return nil, s.control.EndArtifacts(ctx, hostOf(ctx), phonebooth.LeaseID(in.ID))
	}
	return nil, s.control.EndLog(ctx, hostOf(ctx), phonebooth.LeaseID(in.ID), in.Name, in.Size)
}
