package agent

import (
	"context"
	"errors"
	"io"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Server is what the agent asks of the control plane. An error is a *phonebooth.Error when the control plane refused; any
// other error means that it is not known whether the call arrived. Every call may be repeated.
type Server interface {
	Start(ctx context.Context, r v1.IncarnationRequest) (v1.IncarnationAnswer, error)
	Inventory(ctx context.Context, r v1.InventoryRequest) (v1.InventoryAnswer, error)
	Claim(ctx context.Context, r v1.ClaimRequest) (v1.ClaimAnswer, error)
	Renew(ctx context.Context, r v1.RenewalRequest) (v1.RenewalAnswer, error)
	Report(ctx context.Context, r v1.ReportRequest) (v1.ReportAnswer, error)
	AppendLog(ctx context.Context, leaseID, name string, offset int64, p []byte) (v1.LogAnswer, error)
	EndLog(ctx context.Context, leaseID, name string, size int64) error
	PutArtifact(ctx context.Context, leaseID, name string, size int64, sha256hex string, body io.Reader) error
}

// ErrSuperseded is the end of an agent whose host is run by another one now. It has cut and killed everything.
var ErrSuperseded = errors.New("another agent has taken over this host")

// ending is the error with which the agent must stop because of what the control plane answered, or nil.
func ending(err error) error {
	switch phonebooth.CodeOf(err) {
	case "host_superseded":
		return ErrSuperseded
	case "host_identity_conflict", "unauthenticated": // the latter: the host was removed from the pool
		return err
	}
	return nil
}

// answered reports whether err is the control plane's own word, not a failure to get one.
func answered(err error) bool {
	refusal, ok := errors.AsType[*phonebooth.Error](err)
	return err == nil || ok && refusal.Kind != phonebooth.Unavailable && refusal.Kind != phonebooth.Internal
}
