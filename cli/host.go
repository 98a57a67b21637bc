package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) host() *cobra.Command {
	return group(&cobra.Command{
		Use: "host", Short: "Add hosts to the pool, drain and remove them",
		Example: "phonebooth host list\nphonebooth host enroll --name rack-1\nphonebooth host drain rack-1",
	}, p.hostList(), p.hostEnroll(), p.hostDrain(), p.hostResume(), p.hostRemove())
}

// onHost does something to the host that the argument names, and prints it.
func (p *program) onHost(
	cmd *cobra.Command, args []string, out format, do func(*client.Client, context.Context, string) (v1.Host, error),
) error {
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	id, err := hostID(cmd.Context(), cmd, c, args[0])
	if err != nil {
		return err
	}
	h, err := do(c, cmd.Context(), id)
	if err != nil {
		return err
	}
	return printHosts(cmd, out, h, []v1.Host{h})
}

// printHosts prints all, or as JSON whole, the API's own form of them.
func printHosts(cmd *cobra.Command, out format, whole any, all []v1.Host) error {
	if out == formatJSON {
		return printJSON(cmd.OutOrStdout(), whole)
	}
	var rows [][]string
	for _, h := range all {
		state, heard := h.State, "never"
		if h.StateReason != "" {
			state += ": " + h.StateReason
		}
		if h.HeardAt != nil {
			heard = age(*h.HeardAt) + " ago"
		}
		rows = append(rows, []string{
			short(h.Name, 32), short(state, 48), strconv.Itoa(h.Devices), strconv.Itoa(h.Running), heard, short(h.Version, 24), h.ID,
		})
	}
	return printTable(cmd, "hosts", []string{"NAME", "STATE", "DEVICES", "BUSY", "HEARD", "VERSION", "ID"}, rows)
}
