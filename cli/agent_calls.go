package cli

import (
	"context"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// agentCalls makes the agent's calls through the Go client: [agent.Server].
type agentCalls struct{ *client.Agent }

// Claim wraps the assignments as the wire does.
func (a agentCalls) Claim(ctx context.Context, r v1.ClaimRequest) (v1.ClaimAnswer, error) {
	all, err := a.Agent.Claim(ctx, r)
	return v1.ClaimAnswer{Assignments: all}, err
}

// Renew wraps the renewals as the wire does.
func (a agentCalls) Renew(ctx context.Context, r v1.RenewalRequest) (v1.RenewalAnswer, error) {
	all, err := a.Agent.Renew(ctx, r)
	return v1.RenewalAnswer{Leases: all}, err
}

// AppendLog wraps the offset as the wire does.
func (a agentCalls) AppendLog(ctx context.Context, leaseID string, offset int64, p []byte) (v1.LogAnswer, error) {
	next, err := a.Agent.AppendLog(ctx, leaseID, offset, p)
	return v1.LogAnswer{Next: next}, err
}

// enrollCall makes the one call without a token: [agent.Enroller].
type enrollCall struct{ client *client.Client }

// Enroll makes this machine a host.
func (e enrollCall) Enroll(ctx context.Context, r v1.EnrollRequest) (v1.EnrollAnswer, error) {
	id, err := e.client.Enroll(ctx, r)
	return v1.EnrollAnswer{HostID: id}, err
}
