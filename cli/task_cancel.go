package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
)

func (p *program) taskCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel TASK", Short: "Cancel a task", Args: takes("TASK"),
		Long: "Cancels a task. A queued one ends at once. For one that runs the request is recorded; it ends when its host has stopped it, " +
			"or when its lease runs out.",
		Example: "phonebooth task cancel TASK",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		t, err := c.Cancel(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), t)
		}
		state := t.Status
		if !phonebooth.Status(t.Status).Terminal() {
			state += ", asked to stop"
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), t.ID, state)
		return err
	}
	return p.asks(cmd)
}
