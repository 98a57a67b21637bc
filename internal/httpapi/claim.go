package httpapi

import (
	"context"
	"net/http"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

func (s *Server) registerClaims() {
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentClaims, id: "claim", tag: "agent", access: onlyHost, lenient: true, parks: true,
		summary: "Ask for work and wait for it",
		description: "Answers at once when something is assigned to the host, else when it is, or empty after wait_ms, when a " +
			"cancellation waits for one of the host's leases (renew then), when a newer claim of " +
			"the host arrives, or when the server stops. A claim id is spent by its first answer that is not empty: a repeat gets what is " +
			"left of those assignments, and never more. All durations are what is left when the answer is made.",
		codes: []string{"host_unknown", "host_superseded", "host_identity_conflict", "outcome_unknown"},
	}, s.claim)
}

type claimInput struct{ Body v1.ClaimRequest }

type claimOutput struct{ Body v1.ClaimAnswer }

func (s *Server) claim(ctx context.Context, in *claimInput) (*claimOutput, error) {
	answer, err := s.control.Claim(ctx, callerOf(ctx), hostOf(ctx), control.ClaimRequest{
		Incarnation: in.Body.Incarnation, ClaimID: in.Body.ClaimID, Max: in.Body.Max,
		Wait: time.Duration(in.Body.WaitMS) * time.Millisecond, Leaving: in.Body.Leaving,
	})
	if err != nil {
		return nil, err
	}
	out := &claimOutput{Body: v1.ClaimAnswer{Assignments: []v1.Assignment{}, Renew: answer.Renew}}
	for _, c := range answer.Assignments {
		out.Body.Assignments = append(out.Body.Assignments, assignmentOf(c))
	}
	return out, nil
}

func assignmentOf(c control.Claimed) v1.Assignment {
	t := c.Task
	a := v1.Assignment{
		LeaseID: string(c.Attempt.LeaseID), DeviceID: string(c.Device.ID), DeviceKey: c.Device.Key, Attempt: c.Attempt.Number,
		CancelRequested: t.CancelRequested(),
		LeaseMS:         c.Lease.Milliseconds(), FenceMS: c.Fence.Milliseconds(), ParkedMS: c.Parked.Milliseconds(),
		Task: v1.AgentTask{
			ID: string(t.ID), Goal: t.Goal, Inputs: t.Inputs, Runner: t.Constraints.Runner, TimeoutMS: t.Timeout.Milliseconds(),
			Labels: t.Labels, MaxAttempts: t.MaxAttempts,
		},
	}
	if t.Workflow != nil {
		a.Task.Workflow = &v1.WorkflowRef{Name: t.Workflow.Name, Version: t.Workflow.Version}
		a.Task.WorkflowSource = c.WorkflowSource
	}
	return a
}
