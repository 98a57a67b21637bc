package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// registerAgent adds what a Host Agent says of itself and its devices. Like every agent call they act for the host whose
// token it is.
func (s *Server) registerAgent() {
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentIncarnation, id: "start-agent", tag: "agent", access: onlyHost, lenient: true,
		summary: "Start a life of an agent",
		description: "The first call of every start. It answers with the new incarnation, the lease numbers, and the leases that the host " +
			"is believed to hold: the agent gives back those that it does not run.",
		codes: []string{"host_unknown", "host_identity_conflict", "outcome_unknown"},
	}, s.start)
	add(s, call{
		method: http.MethodPut, path: v1.PathAgentInventory, id: "send-inventory", tag: "agent", access: onlyHost, lenient: true,
		summary: "Say which devices there are", description: "The full list, with conditions; it is also the heartbeat.",
		codes: []string{"host_unknown", "host_superseded", "host_identity_conflict", "outcome_unknown"},
	}, s.inventory)
}

type startInput struct{ Body v1.IncarnationRequest }

type startOutput struct{ Body v1.IncarnationAnswer }

func (s *Server) start(ctx context.Context, in *startInput) (*startOutput, error) {
	h, held, err := s.control.Start(ctx, callerOf(ctx), hostOf(ctx), control.StartRequest{
		StartID: in.Body.StartID, Previous: in.Body.Previous, TakeOver: in.Body.TakeOver, Version: in.Body.Version,
	})
	if err != nil {
		return nil, err
	}
	p := s.control.Policy()
	out := &startOutput{Body: v1.IncarnationAnswer{
		HostID: string(h.ID), Incarnation: h.Incarnation, Leases: []v1.HeldLease{},
		Timing: v1.Timing{
			LeaseMS: p.TTL.Milliseconds(), RenewMS: p.RenewEvery().Milliseconds(),
			HeartbeatMS: p.Heartbeat.Milliseconds(), FenceMS: p.FenceMargin.Milliseconds(),
		},
	}}
	for _, l := range held {
		out.Body.Leases = append(out.Body.Leases, v1.HeldLease{
			LeaseID: string(l.Attempt.LeaseID), TaskID: string(l.Attempt.TaskID), Attempt: l.Attempt.Number,
			DeviceID: string(l.Attempt.DeviceID), DeviceKey: l.DeviceKey,
		})
	}
	return out, nil
}

type inventoryInput struct{ Body v1.InventoryRequest }

type inventoryOutput struct{ Body v1.InventoryAnswer }

func (s *Server) inventory(ctx context.Context, in *inventoryInput) (*inventoryOutput, error) {
	seen := make([]lifecycle.Sighting, 0, len(in.Body.Devices))
	for i, d := range in.Body.Devices {
		if err := validSighting(i, d); err != nil {
			return nil, err
		}
		seen = append(seen, lifecycle.Sighting{
			Key: d.Key, Name: d.Name, DriverType: d.DriverType, Tags: d.Tags, Runners: d.Runners, Fence: d.Fence,
			Attributes: d.Attributes, Condition: phonebooth.Condition(d.Condition), Reason: d.Reason, Confirm: d.Confirm, Probed: d.Probed,
		})
	}
	word := phonebooth.Word{Incarnation: in.Body.Incarnation, Seq: in.Body.Seq}
	answer, err := s.control.Inventory(ctx, callerOf(ctx), hostOf(ctx), word, seen)
	if err != nil {
		return nil, err
	}
	out := &inventoryOutput{Body: v1.InventoryAnswer{
		DeviceIDs: map[string]string{}, Confirm: answer.Confirm, Probe: answer.Probe, Draining: answer.Draining,
	}}
	for key, id := range answer.DeviceIDs {
		out.Body.DeviceIDs[key] = string(id)
	}
	return out, nil
}

// validSighting refuses a driver type and runners that no task could name.
func validSighting(i int, d v1.Sighting) error {
	if !phonebooth.ValidName(d.DriverType) {
		return badName(fmt.Sprintf("/devices/%d/driver_type", i))
	}
	for j, runner := range d.Runners {
		if !phonebooth.ValidName(runner) {
			return badName(fmt.Sprintf("/devices/%d/runners/%d", i, j))
		}
	}
	return phonebooth.ValidTags(fmt.Sprintf("/devices/%d/tags", i), d.Tags)
}

func badName(pointer string) error {
	return phonebooth.Errorf(phonebooth.Invalid, "invalid",
		"%s must be 1 to 63 letters, digits, dots, underscores and hyphens", pointer).With("pointer", pointer)
}
