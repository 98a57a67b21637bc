package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Cordon keeps new tasks from a device; what runs on it goes on.
func (c *Client) Cordon(ctx context.Context, id, reason string) (d v1.Device, err error) {
	body, err := bodyOf(v1.HoldRequest{Reason: reason})
	if err != nil {
		return d, err
	}
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "devices", id, "cordon"}, body: body, safe: true}, &d)
	return d, err
}

// Uncordon ends a cordon or a quarantine.
func (c *Client) Uncordon(ctx context.Context, id string) (d v1.Device, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "devices", id, "uncordon"}, safe: true}, &d)
	return d, err
}

// Release force-ends the attempt that holds a device. It is never repeated by itself: by then the device may hold another.
func (c *Client) Release(ctx context.Context, id string) (d v1.Device, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "devices", id, "release"}}, &d)
	return d, err
}

// Hosts lists the hosts that were not removed.
func (c *Client) Hosts(ctx context.Context) ([]v1.Host, error) {
	var list v1.HostList
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "hosts"}, safe: true}, &list)
	return list.Hosts, err
}

// Drain lets what runs on a host end and starts nothing new on it.
func (c *Client) Drain(ctx context.Context, id string) (h v1.Host, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "hosts", id, "drain"}, safe: true}, &h)
	return h, err
}

// Resume ends a drain.
func (c *Client) Resume(ctx context.Context, id string) (h v1.Host, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "hosts", id, "resume"}, safe: true}, &h)
	return h, err
}

// RemoveHost takes a host out of the pool for ever; it is refused as host_busy while one of its devices holds a task.
func (c *Client) RemoveHost(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: []string{"v1", "hosts", id}, safe: true}, nil)
}

// Enrollment makes a one-time token with which a machine becomes a host of that name; "" lets its agent choose.
func (c *Client) Enrollment(ctx context.Context, name string) (e v1.Enrollment, err error) {
	body, err := bodyOf(v1.EnrollmentRequest{Name: name})
	if err != nil {
		return e, err
	}
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "enrollments"}, body: body}, &e)
	return e, err
}

// ApplyWorkflow makes source, YAML, the newest version of the workflow, unless it already is.
func (c *Client) ApplyWorkflow(ctx context.Context, name, source string) (w v1.Workflow, err error) {
	body, err := bodyOf(v1.WorkflowRequest{Source: source})
	if err != nil {
		return w, err
	}
	err = c.do(ctx, request{method: http.MethodPut, path: []string{"v1", "workflows", name}, body: body, safe: true}, &w)
	return w, err
}

// Workflows lists the newest version of each workflow.
func (c *Client) Workflows(ctx context.Context) ([]v1.Workflow, error) {
	var list v1.WorkflowList
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "workflows"}, safe: true}, &list)
	return list.Workflows, err
}

// Workflow is one version of a workflow; version 0 is the newest.
func (c *Client) Workflow(ctx context.Context, name string, version int) (w v1.Workflow, err error) {
	query := url.Values{}
	query.Set("version", strconv.Itoa(version))
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "workflows", name}, query: query, safe: true}, &w)
	return w, err
}

// Version tells what the server runs. It needs no token.
func (c *Client) Version(ctx context.Context) (v v1.Version, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "version"}, safe: true}, &v)
	return v, err
}

// Ready says whether the server can answer requests, asking once.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodGet, path: []string{"readyz"}}, nil)
}
