package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// What a shell completes is asked for while somebody types: a server that does not answer soon is not waited for, and whatever
// goes wrong, nothing is offered and nothing is said.
const (
	completionTime  = time.Second
	completionTasks = 100 // the newest ones
)

// choice is something that can be typed, and what it is.
type choice struct{ value, about string }

// choices asks the server of a command line what could stand at its end.
type choices func(ctx context.Context, c *client.Client, typed string) ([]choice, error)

// completes makes the arguments and flags of every verb that asks a server completable with what that server has.
func (p *program) completes(cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		p.completes(verb)
	}
	if cmd.Name() == "login" || cmd.Name() == "logout" {
		cmd.ValidArgsFunction = knownServers
	}
	if cmd.Flags().Lookup("server") == nil || cmd.Flags().Lookup("token-file") == nil {
		return
	}
	if source := argument(cmd); source != nil && cmd.ValidArgsFunction == nil {
		offer := p.offer(source)
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offer(cmd, args, typed)
		}
	}
	for name, source := range map[string]choices{
		"task": tasksThat(nil), "device": devicesThat(nil), "host": hostsThat(nil), "workflow": workflowNames, "label": taskLabels,
		"tag":    ofDevices(func(d v1.Device) []string { return d.Tags }),
		"driver": ofDevices(func(d v1.Device) []string { return []string{d.DriverType} }),
		"runner": ofDevices(func(d v1.Device) []string { return d.Runners }),
	} {
		p.completesFlag(cmd, name, p.offer(source))
	}
	p.completesFlag(cmd, "kind", eventKinds)
	p.completesFlag(cmd, "server", knownServers)
	for _, name := range []string{"goal", "input", "reason", "timeout", "queue-timeout", "idempotency-key", "name"} {
		p.completesFlag(cmd, name, cobra.NoFileCompletions)
	}
}

// completesFlag gives a flag its choices, unless the verb has none of that name, or choices of its own for it.
func (p *program) completesFlag(cmd *cobra.Command, name string, choose cobra.CompletionFunc) {
	if cmd.Flags().Lookup(name) == nil {
		return
	}
	if _, own := cmd.GetFlagCompletionFunc(name); !own {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, choose))
	}
}

// argument is what the argument of a verb can be; nil for one that has none, or one that no server knows.
func argument(cmd *cobra.Command) choices {
	_, names, _ := strings.Cut(cmd.Use, " ")
	switch cmd.Name() + " " + names {
	case "cancel TASK":
		return tasksThat([]string{string(phonebooth.Queued), string(phonebooth.Assigned), string(phonebooth.Dispatched)})
	case "cordon DEVICE":
		return devicesThat(func(d v1.Device) bool { return d.Hold != string(phonebooth.Cordoned) })
	case "uncordon DEVICE":
		return devicesThat(func(d v1.Device) bool { return d.Hold != string(phonebooth.NoHold) })
	case "release DEVICE":
		return devicesThat(func(d v1.Device) bool { return d.TaskID != "" })
	case "drain HOST":
		return hostsThat(func(h v1.Host) bool { return h.State != "draining" && h.State != "drained" })
	case "resume HOST":
		return hostsThat(func(h v1.Host) bool { return h.State == "draining" || h.State == "drained" })
	}
	switch names {
	case "TASK":
		return tasksThat(nil)
	case "DEVICE":
		return devicesThat(nil)
	case "HOST":
		return hostsThat(nil)
	case "NAME[@VERSION]":
		return workflowNames
	}
	return nil
}

// offer makes choices what cobra asks for.
func (p *program) offer(source choices) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		ctx, stop := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTime)
		defer stop()
		c, err := p.connect(cmd, -1)
		if err != nil {
			return nil, directive
		}
		found, err := source(ctx, c, typed)
		if err != nil {
			return nil, directive
		}
		var offered []cobra.Completion
		for _, f := range found {
			if strings.HasPrefix(f.value, typed) && clean(f.value) == f.value { // what a shell would garble is not offered
				offered = append(offered, cobra.CompletionWithDesc(f.value, short(f.about, 60)))
			}
		}
		return offered, directive
	}
}

// tasksThat are the newest tasks with one of the statuses.
func tasksThat(statuses []string) choices {
	return func(ctx context.Context, c *client.Client, _ string) (found []choice, err error) {
		list, err := c.Tasks(ctx, client.TaskQuery{Status: statuses, Limit: completionTasks})
		for _, t := range list.Tasks {
			found = append(found, choice{t.ID, t.Status + ": " + asked(t)})
		}
		return found, err
	}
}

// devicesThat are devices, by name where that is one device's alone, else by id.
func devicesThat(wanted func(v1.Device) bool) choices {
	return func(ctx context.Context, c *client.Client, typed string) (found []choice, err error) {
		devices, err := c.Devices(ctx)
		named := map[string]int{}
		for _, d := range devices {
			named[d.Name]++
		}
		for _, d := range devices {
			if wanted != nil && !wanted(d) {
				continue
			}
			about := d.DriverType + ", " + deviceState(d)
			if named[d.Name] == 1 && !strings.HasPrefix(typed, "device_") {
				found = append(found, choice{d.Name, about})
			} else {
				found = append(found, choice{d.ID, d.Name + ", " + about})
			}
		}
		return found, err
	}
}

// hostsThat are hosts by name, or by id where that is what is typed.
func hostsThat(wanted func(v1.Host) bool) choices {
	return func(ctx context.Context, c *client.Client, typed string) (found []choice, err error) {
		hosts, err := c.Hosts(ctx)
		for _, h := range hosts {
			if wanted != nil && !wanted(h) {
				continue
			}
			about := h.State + ", " + counted(h.Devices, "device")
			if strings.HasPrefix(typed, "host_") {
				found = append(found, choice{h.ID, h.Name + ", " + about})
			} else {
				found = append(found, choice{h.Name, about})
			}
		}
		return found, err
	}
}

// workflowNames are workflows; behind an @ their versions.
func workflowNames(ctx context.Context, c *client.Client, typed string) (found []choice, err error) {
	list, err := c.Workflows(ctx)
	name, _, versions := strings.Cut(typed, "@")
	for _, w := range list {
		switch {
		case !versions:
			found = append(found, choice{w.Name, fmt.Sprint("version ", w.Version)})
		case w.Name == name:
			for v := w.Version; v > 0; v-- {
				found = append(found, choice{value: fmt.Sprint(name, "@", v)})
			}
		}
	}
	return found, err
}

// ofDevices are the different values that devices have, and how many have each.
func ofDevices(values func(v1.Device) []string) choices {
	return func(ctx context.Context, c *client.Client, _ string) ([]choice, error) {
		devices, err := c.Devices(ctx)
		var all []string
		for _, d := range devices {
			all = append(all, values(d)...)
		}
		return different(all, "device"), err
	}
}

// taskLabels are the labels of the newest tasks.
func taskLabels(ctx context.Context, c *client.Client, _ string) ([]choice, error) {
	list, err := c.Tasks(ctx, client.TaskQuery{Limit: completionTasks})
	var all []string
	for _, t := range list.Tasks {
		for key, value := range t.Labels {
			all = append(all, key+"="+value)
		}
	}
	return different(all, "task"), err
}

// different are the values without repeats, in order, each with how many things have it.
func different(values []string, thing string) (found []choice) {
	slices.Sort(values)
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		found = append(found, choice{values[i], counted(n, thing)})
		i += n
	}
	return found
}

func eventKinds(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range phonebooth.EventKinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// knownServers are those that a token is kept for.
func knownServers(_ *cobra.Command, args []string, _ string) (known []cobra.Completion, _ cobra.ShellCompDirective) {
	kept, err := keptAccounts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for address := range kept.Servers {
		known = append(known, address)
	}
	slices.Sort(known)
	return known, cobra.ShellCompDirectiveNoFileComp
}
