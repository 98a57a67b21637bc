package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) taskList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks, newest first", Args: takes(),
		Long: "Lists tasks, the newest submission first, a page at a time. All filters must match; a device or a host is given by id or name. " +
			"A time is RFC 3339, a day such as 2026-03-01, or how long ago: 90m, 36h, 7d.",
		Example: `phonebooth task list --status queued,assigned,dispatched
phonebooth task list --status failed --since 24h --device PHONE
phonebooth task list --label suite=nightly --label flaky --limit 200 -o json
phonebooth task list --workflow login@3 --driver android
phonebooth task list --text "dark mode"
phonebooth task list --watch --status queued,assigned,dispatched`,
	}
	out := prints(cmd)
	var q client.TaskQuery
	var since, until string
	var watch bool
	flags := cmd.Flags()
	flags.StringSliceVar(&q.Status, "status", nil, "any of these: "+statusNames())
	flags.StringArrayVar(&q.Labels, "label", nil, "with this label: KEY or KEY=VALUE; may be repeated")
	flags.StringVar(&q.DeviceID, "device", "", "on this device now or last")
	flags.StringVar(&q.HostID, "host", "", "on this host now or last")
	flags.StringVar(&q.Workflow, "workflow", "", "of this workflow: NAME or NAME@VERSION")
	flags.StringSliceVar(&q.DriverTypes, "driver", nil, "that ask for any of these drivers")
	flags.StringVar(&since, "since", "", "submitted at this time or later")
	flags.StringVar(&until, "until", "", "submitted before this time")
	flags.StringVar(&q.Text, "text", "", "whose goal has this text")
	flags.IntVar(&q.Limit, "limit", 50, "tasks of a page, 1 to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "of the page, as the page before gave it")
	flags.BoolVarP(&watch, "watch", "w", false, "go on showing them as they change, until Ctrl-C: a table at a terminal, else a line for each change")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		strings.Split(statusNames(), ", "), cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if q.CreatedSince, err = moment(cmd, "since", since); err != nil {
			return err
		}
		if q.CreatedUntil, err = moment(cmd, "until", until); err != nil {
			return err
		}
		return p.listTasks(cmd, q, *out, watch)
	}
	return p.asks(cmd)
}

func statusNames() string {
	var names []string
	for _, s := range phonebooth.Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func (p *program) listTasks(cmd *cobra.Command, q client.TaskQuery, out format, watch bool) error {
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
	if watch {
		return p.watchTasks(cmd, q, out)
	}
	list, err := fullPage(cmd.Context(), c, q, 0)
	if err != nil {
		return err
	}
	if out == formatJSON {
		return printJSON(cmd.OutOrStdout(), list)
	}
	return printTasks(cmd, c, list)
}

// fullPage asks on while a page is short although there are more: the server looks at so many tasks at once. It asks calls
// times at most; 0: until the page is full, or there are no more.
func fullPage(ctx context.Context, c *client.Client, q client.TaskQuery, calls int) (v1.TaskList, error) {
	all := v1.TaskList{Tasks: []v1.Task{}}
	for asked, limit := 1, q.Limit; ; asked++ {
		q.Limit = limit - len(all.Tasks)
		page, err := c.Tasks(ctx, q)
		if err != nil {
			return all, err
		}
		all.Tasks, all.Next = append(all.Tasks, page.Tasks...), page.Next
		if page.Next == "" || len(all.Tasks) >= limit || asked == calls {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

func printTasks(cmd *cobra.Command, c *client.Client, list v1.TaskList) error {
	devices, err := c.Devices(cmd.Context())
	if err != nil {
		return err
	}
	return taskTable(cmd, deviceNames(devices), list)
}

func taskTable(cmd *cobra.Command, device func(id string) string, list v1.TaskList) error {
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
