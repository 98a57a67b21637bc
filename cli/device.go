package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) device() *cobra.Command {
	return group(&cobra.Command{
		Use: "device", Short: "See the devices of the pool, and keep tasks from one",
		Example: "phonebooth device list\nphonebooth device cordon PHONE --reason \"cracked screen\"",
	}, p.deviceList(), p.deviceCordon(), p.deviceUncordon(), p.deviceRelease())
}

// onDevice does something to the device that the argument names, and prints it.
func (p *program) onDevice(
	cmd *cobra.Command, args []string, out format, do func(*client.Client, context.Context, string) (v1.Device, error),
) error {
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	id, err := deviceID(cmd.Context(), cmd, c, args[0])
	if err != nil {
		return err
	}
	d, err := do(c, cmd.Context(), id)
	if err != nil {
		return err
	}
	return printDevices(cmd, c, out, d, []v1.Device{d})
}

// printDevices prints all, or as JSON whole, the API's own form of them.
func printDevices(cmd *cobra.Command, c *client.Client, out format, whole any, all []v1.Device) error {
	if out == formatJSON {
		return printJSON(cmd.OutOrStdout(), whole)
	}
	hosts, err := c.Hosts(cmd.Context())
	if err != nil {
		return err
	}
	host := hostNames(hosts)
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{
			short(d.Name, 32), d.DriverType, deviceState(d), short(host(d.HostID), 24), d.TaskID,
			short(strings.Join(d.Tags, ","), 32), strings.Join(d.Runners, ","), d.Fence, d.ID,
		})
	}
	return printTable(cmd, "devices", []string{"NAME", "DRIVER", "STATE", "HOST", "TASK", "TAGS", "RUNNERS", "FENCE", "ID"}, rows)
}

// deviceState says in one column whether a device takes tasks, and why not.
func deviceState(d v1.Device) string { return short(deviceStateWhole(d), 48) }

func deviceStateWhole(d v1.Device) string {
	state, reason := strings.TrimPrefix(d.Unavailable, "condition:"), ""
	switch state {
	case "":
		return "idle"
	case "reserved":
		return "busy"
	case "cordoned", "quarantined":
		reason = d.HoldReason
	case d.Condition:
		reason = d.ConditionReason
	}
	if reason != "" {
		state += ": " + reason
	}
	return state
}
