package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) deviceList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the devices: what each is, and why it cannot take a task now", Args: takes(),
		Long: "Lists the devices by host and name. All filters must match; a host is given by id or name. --wide adds what " +
			"the devices' hosts tell of them, and since when each is as it is.",
		Example: `phonebooth device list
phonebooth device list --state idle --driver android --tag lab
phonebooth device list --condition offline,unauthorized --host rack-1
phonebooth device list --hold quarantined -o json
phonebooth device list --text "pixel 8" --wide`,
	}
	out := prints(cmd)
	var q client.DeviceQuery
	flags := cmd.Flags()
	flags.StringSliceVar(&q.DriverTypes, "driver", nil, "with any of these drivers")
	flags.StringArrayVar(&q.Tags, "tag", nil, "with this tag; may be repeated")
	flags.StringVar(&q.HostID, "host", "", "of this host")
	flags.StringSliceVar(&q.Conditions, "condition", nil, "in any of these conditions: ready, offline, cleaning, ...")
	flags.StringSliceVar(&q.Holds, "hold", nil, "under any of these holds: none, cordoned, quarantined")
	flags.StringSliceVar(&q.States, "state", nil, "any of: idle (it takes a task now), busy, unavailable")
	flags.StringVar(&q.Text, "text", "", "whose name, id, host, tags or attributes have this text")
	wide := flags.Bool("wide", false, "more columns: attributes, the model of a phone among them, and since when")
	for name, values := range map[string][]string{"hold": deviceHolds(), "state": deviceStates()} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listDevices(cmd, q, *out, *wide) }
	return p.asks(cmd)
}

func deviceHolds() []string { return []string{"none", "cordoned", "quarantined"} }

func deviceStates() []string { return []string{"idle", "busy", "unavailable"} }

func (p *program) listDevices(cmd *cobra.Command, q client.DeviceQuery, out format, wide bool) error {
	for _, given := range []struct {
		what          string
		values, known []string
	}{{"hold", q.Holds, deviceHolds()}, {"state", q.States, deviceStates()}} {
		for _, value := range given.values {
			if !slices.Contains(given.known, value) {
				return usage(cmd, "%q is no %s of a device; there are: %s", clean(value), given.what, strings.Join(given.known, ", "))
			}
		}
	}
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	if q.HostID, err = hostID(cmd.Context(), cmd, c, q.HostID); err != nil {
		return err
	}
	devices, err := c.DevicesOf(cmd.Context(), q)
	if err != nil {
		return err
	}
	if out == formatTable {
		if err := byHostAndName(cmd, c, devices); err != nil {
			return err
		}
	}
	if wide && out == formatTable {
		return printDevicesWide(cmd, c, devices)
	}
	return printDevices(cmd, c, out, v1.DeviceList{Devices: devices}, devices)
}

// printDevicesWide prints the columns of printDevices and more, with nothing cut short.
func printDevicesWide(cmd *cobra.Command, c *client.Client, devices []v1.Device) error {
	hosts, err := c.Hosts(cmd.Context())
	if err != nil {
		return err
	}
	host := hostNames(hosts)
	var rows [][]string
	for _, d := range devices {
		since := d.ConditionSince
		if d.HoldSince != nil && d.HoldSince.After(since) {
			since = *d.HoldSince
		}
		rows = append(rows, []string{
			d.Name, d.DriverType, deviceStateWhole(d), age(since), host(d.HostID), d.TaskID, strings.Join(d.Tags, ","),
			strings.Join(d.Runners, ","), d.Fence, labels(d.Attributes), d.ID,
		})
	}
	return printTable(cmd, "devices", []string{
		"NAME", "DRIVER", "STATE", "SINCE", "HOST", "TASK", "TAGS", "RUNNERS", "FENCE", "ATTRIBUTES", "ID",
	}, rows)
}
