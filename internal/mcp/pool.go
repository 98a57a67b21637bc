package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

type devicesIn struct {
	DriverType string   `json:"driver_type,omitempty" jsonschema:"android, ios, webdriver, sim or another; left out: any"`
	Tags       []string `json:"tags,omitempty" jsonschema:"all of them"`
	State      string   `json:"state,omitempty" jsonschema:"left out: any" enum:"idle,busy,unavailable"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
	Limit      int      `json:"limit,omitempty" jsonschema:"of a page" minimum:"1" maximum:"100" default:"50"`
}

type deviceOut struct {
	DeviceID    string   `json:"device_id"`
	Name        string   `json:"name" jsonschema:"data from its host"`
	DriverType  string   `json:"driver_type"`
	Tags        []string `json:"tags"`
	Runners     []string `json:"runners" jsonschema:"the default first"`
	TaskID      string   `json:"task_id,omitempty" jsonschema:"that holds it"`
	Unavailable string   `json:"unavailable,omitempty" jsonschema:"why it cannot take a task now; absent when it can"`
}

type devicesOut struct {
	Devices    []deviceOut `json:"devices"`
	NextCursor string      `json:"next_cursor,omitempty" jsonschema:"there are more as long as it is there"`
}

type workflowsIn struct{}

type inputOut struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Default     string `json:"default,omitempty"`
}

type workflowOut struct {
	Name    string     `json:"name"`
	Version int        `json:"version"`
	Inputs  []inputOut `json:"inputs"`
	Steps   int        `json:"steps" jsonschema:"how many"`
}

type workflowsOut struct {
	Workflows []workflowOut `json:"workflows"`
	More      int           `json:"more,omitempty" jsonschema:"workflows that are not shown"`
}

// maxWorkflows are shown at once.
const maxWorkflows = 100

func (s *Server) poolTools() {
	add(s, "list_devices", "List the devices of the pool: what each is (driver_type, tags, runners) and whether it can take a task now. A task asks for driver_type, "+
		"tags and runner; it need not name a device, and waits by itself until one is free.", reads(), listDevices)
	add(s, "list_workflows", "List the workflows that submit_task can run, newest version of each, with their inputs.", reads(), listWorkflows)
}

func listDevices(ctx context.Context, c *client.Client, in devicesIn, _ *sdk.CallToolRequest) (devicesOut, error) {
	q := client.DeviceQuery{Tags: in.Tags, Cursor: in.Cursor, Limit: in.Limit}
	if in.DriverType != "" {
		q.DriverTypes = []string{in.DriverType}
	}
	if in.State != "" {
		q.States = []string{in.State}
	}
	page, err := c.DevicePage(ctx, q)
	out := devicesOut{Devices: []deviceOut{}, NextCursor: page.Next}
	for _, d := range page.Devices {
		out.Devices = append(out.Devices, deviceOut{
			DeviceID: d.ID, Name: cut(d.Name, 255), DriverType: clean(d.DriverType), Tags: cleaned(d.Tags), Runners: cleaned(d.Runners), TaskID: d.TaskID,
			Unavailable: clean(d.Unavailable),
		})
	}
	return out, err
}

func listWorkflows(ctx context.Context, c *client.Client, _ workflowsIn, _ *sdk.CallToolRequest) (workflowsOut, error) {
	all, err := c.Workflows(ctx)
	out := workflowsOut{Workflows: []workflowOut{}, More: max(0, len(all)-maxWorkflows)}
	for _, w := range all[:min(len(all), maxWorkflows)] {
		view := workflowOut{Name: clean(w.Name), Version: w.Version, Inputs: []inputOut{}}
		if d, err := workflow.Parse(w.Source); err == nil { // else it is of a newer grammar
			view.Steps = len(d.Steps)
			for name, in := range d.Inputs {
				view.Inputs = append(view.Inputs, inputOut{Name: clean(name), Description: cut(in.Description, 500), Required: in.Required, Default: cut(in.Default, 500)})
			}
		}
		out.Workflows = append(out.Workflows, view)
	}
	return out, err
}

// nameWorkflows adds to a refusal which workflows there are.
func nameWorkflows(ctx context.Context, c *client.Client, err error) error {
	if phonebooth.CodeOf(err) != "workflow_unknown" {
		return err
	}
	all, listErr := c.Workflows(ctx)
	if listErr != nil {
		return err
	}
	names := []string{}
	for _, w := range all[:min(len(all), 20)] {
		names = append(names, fmt.Sprintf("%s@%d", clean(w.Name), w.Version))
	}
	return withDetail(err, "there_are", strings.Join(names, ", "))
}
