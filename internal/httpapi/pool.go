package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

func (s *Server) registerDevices() {
	add(s, call{
		method: http.MethodGet, path: v1.PathDevices, id: "list-devices", tag: "pool", access: onlyAdmin,
		summary: "List devices", description: "With what holds each and why it cannot take a task now; the oldest registration first, a page at a time.",
	}, s.listDevices)
	add(s, call{
		method: http.MethodPost, path: v1.PathDevices + "/{id}/cordon", id: "cordon-device", tag: "pool", access: onlyAdmin,
		summary: "Keep new tasks from a device", description: "What runs on it goes on. Twice is once.",
		codes: []string{"device_unknown", "outcome_unknown"},
	}, func(ctx context.Context, in *cordonInput) (*deviceOutput, error) {
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		return s.onDevice(ctx, in.ID, func(id phonebooth.DeviceID) error { return s.control.Cordon(ctx, callerOf(ctx), id, reason) })
	})
	add(s, call{
		method: http.MethodPost, path: v1.PathDevices + "/{id}/uncordon", id: "uncordon-device", tag: "pool", access: onlyAdmin,
		summary: "End a device's hold", description: "A cordon or a quarantine. Twice is once.",
		codes: []string{"device_unknown", "outcome_unknown"},
	}, func(ctx context.Context, in *idInput) (*deviceOutput, error) {
		return s.onDevice(ctx, in.ID, func(id phonebooth.DeviceID) error { return s.control.Uncordon(ctx, callerOf(ctx), id) })
	})
	add(s, call{
		method: http.MethodPost, path: v1.PathDevices + "/{id}/release", id: "release-device", tag: "pool", access: onlyAdmin,
		summary: "Force-end the attempt that holds a device",
		description: "For one that is wedged. The host is not asked: the device takes nothing until its host has confirmed that nothing of " +
			"the attempt is left on it.",
		codes: []string{"device_unknown", "not_reserved", "outcome_unknown"},
	}, func(ctx context.Context, in *idInput) (*deviceOutput, error) {
		return s.onDevice(ctx, in.ID, func(id phonebooth.DeviceID) error { return s.control.Release(ctx, callerOf(ctx), id) })
	})
}

type idInput struct {
	ID string `path:"id"`
}

type cordonInput struct {
	ID   string `path:"id"`
	Body *v1.HoldRequest
}

type deviceOutput struct{ Body v1.Device }

func wireDevice(pool control.Pool, d phonebooth.Device) v1.Device {
	var held *phonebooth.Reservation
	if r, ok := pool.Reservations[d.ID]; ok {
		held = &r
	}
	return v1.DeviceOf(d, pool.Hosts[d.HostID], held)
}

// onDevice does something to a device and answers with what it is afterwards.
func (s *Server) onDevice(ctx context.Context, id string, do func(phonebooth.DeviceID) error) (*deviceOutput, error) {
	if err := do(phonebooth.DeviceID(id)); err != nil {
		return nil, err
	}
	pool, err := s.control.Pool(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range pool.Devices {
		if d.ID == phonebooth.DeviceID(id) {
			return &deviceOutput{Body: wireDevice(pool, d)}, nil
		}
	}
	return nil, phonebooth.Errorf(phonebooth.NotFound, "device_unknown", "the device's host was removed from the pool")
}

func (s *Server) registerHosts() {
	add(s, call{
		method: http.MethodGet, path: v1.PathHosts, id: "list-hosts", tag: "pool", access: onlyAdmin,
		summary: "List hosts", description: "All that were not removed.",
	}, s.listHosts)
	add(s, call{
		method: http.MethodPost, path: v1.PathHosts + "/{id}/drain", id: "drain-host", tag: "pool", access: onlyAdmin,
		summary: "Start nothing new on a host", description: "What runs may end; then its state is drained. Twice is once.",
		codes: []string{"host_unknown", "outcome_unknown"},
	}, func(ctx context.Context, in *idInput) (*hostOutput, error) {
		return s.onHost(ctx, in.ID, func(id phonebooth.HostID) error { return s.control.Drain(ctx, callerOf(ctx), id) })
	})
	add(s, call{
		method: http.MethodPost, path: v1.PathHosts + "/{id}/resume", id: "resume-host", tag: "pool", access: onlyAdmin,
		summary: "End a host's drain", description: "Twice is once.",
		codes: []string{"host_unknown", "outcome_unknown"},
	}, func(ctx context.Context, in *idInput) (*hostOutput, error) {
		return s.onHost(ctx, in.ID, func(id phonebooth.HostID) error { return s.control.Resume(ctx, callerOf(ctx), id) })
	})
	add(s, call{
		method: http.MethodDelete, path: v1.PathHosts + "/{id}", id: "remove-host", tag: "pool", access: onlyAdmin,
		summary: "Remove a host", description: "For ever: its token is refused at once. While a device of it holds a task it stays.",
		codes: []string{"host_unknown", "host_busy", "outcome_unknown"},
	}, func(ctx context.Context, in *idInput) (*struct{}, error) {
		return nil, s.control.RemoveHost(ctx, callerOf(ctx), phonebooth.HostID(in.ID))
	})
}

type hostListOutput struct{ Body v1.HostList }

type hostOutput struct{ Body v1.Host }

func (s *Server) listHosts(ctx context.Context, _ *struct{}) (*hostListOutput, error) {
	hosts, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	return &hostListOutput{Body: v1.HostList{Hosts: hosts}}, nil
}

// hosts are all hosts, the oldest first.
func (s *Server) hosts(ctx context.Context) ([]v1.Host, error) {
	pool, err := s.control.Pool(ctx)
	if err != nil {
		return nil, err
	}
	devices, running := map[phonebooth.HostID]int{}, map[phonebooth.HostID]int{}
	for _, d := range pool.Devices {
		devices[d.HostID]++
		if _, held := pool.Reservations[d.ID]; held {
			running[d.HostID]++
		}
	}
	hosts := []v1.Host{}
	for id, h := range pool.Hosts {
		hosts = append(hosts, v1.HostOf(h, devices[id], running[id]))
	}
	slices.SortFunc(hosts, func(a, b v1.Host) int {
		return cmp.Or(a.RegisteredAt.Compare(b.RegisteredAt), cmp.Compare(a.ID, b.ID))
	})
	return hosts, nil
}

// onHost does something to a host and answers with what it is afterwards.
func (s *Server) onHost(ctx context.Context, id string, do func(phonebooth.HostID) error) (*hostOutput, error) {
	if err := do(phonebooth.HostID(id)); err != nil {
		return nil, err
	}
	hosts, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if h.ID == id {
			return &hostOutput{Body: h}, nil
		}
	}
	return nil, phonebooth.Errorf(phonebooth.NotFound, "host_unknown", "the host was removed from the pool")
}
