package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) taskList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks, newest first", Args: takes(),
		Long: "Lists tasks, the newest submission first, a page at a time. All filters must match; a device or a host is given by id or name.",
		Example: `phonebooth task list --status queued,assigned,dispatched
phonebooth task list --label suite=nightly --limit 200 -o json`,
	}
	out := prints(cmd)
	var q client.TaskQuery
	flags := cmd.Flags()
	flags.StringSliceVar(&q.Status, "status", nil, "any of these: "+statusNames())
	flags.StringToStringVar(&q.Labels, "label", nil, "with this label: KEY=VALUE; may be repeated")
	flags.StringVar(&q.DeviceID, "device", "", "on this device now or last")
	flags.StringVar(&q.HostID, "host", "", "on this host now or last")
	flags.IntVar(&q.Limit, "limit", 50, "tasks of a page, 1 to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "of the page, as the page before gave it")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		strings.Split(statusNames(), ", "), cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listTasks(cmd, q, *out) }
	return p.asks(cmd)
}

func statusNames() string {
	var names []string
	for _, s := range phonebooth.Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func (p *program) listTasks(cmd *cobra.Command, q client.TaskQuery, out format) error {
	for _, s := range q.Status {
		if !slices.Contains(phonebooth.Statuses(), phonebooth.Status(s)) {
			return usage(cmd, "%q is no status; there are: %s", clean(s), statusNames())
		}
	}
	if q.Limit < 1 || q.Limit > 500 {
		return usage(cmd, "--limit must be between 1 and 500")
	}
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	if q.DeviceID, err = deviceID(cmd.Context(), cmd, c, q.DeviceID); err != nil {
		return err
	}
	if q.HostID, err = hostID(cmd.Context(), cmd, c, q.HostID); err != nil {
		return err
	}
	list, err := c.Tasks(cmd.Context(), q)
	if err != nil {
		return err
	}
	if out == formatJSON {
		return printJSON(cmd.OutOrStdout(), list)
	}
	devices, err := c.Devices(cmd.Context())
	if err != nil {
		return err
	}
	device := deviceNames(devices)
	var rows [][]string
	for _, t := range list.Tasks {
		rows = append(rows, []string{
			t.ID, standing(t), fmt.Sprintf("%d/%d", t.Attempt, t.MaxAttempts), short(device(t.DeviceID), 24), age(t.CreatedAt), short(asked(t), 56),
		})
	}
	if err := printTable(cmd, "tasks", []string{"ID", "STATUS", "ATTEMPT", "DEVICE", "AGE", "GOAL"}, rows); err != nil {
		return err
	}
	if list.Next != "" {
		say(cmd, "there are more: add --cursor %s", list.Next)
	}
	return nil
}
