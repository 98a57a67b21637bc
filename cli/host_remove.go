package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) hostRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove HOST", Short: "Remove a host from the pool for ever", Args: takes("HOST"),
		Long: "Removes a host, given by its id or its name: its token is refused from then on, and its devices are gone. While one of " +
			"them holds a task the host stays; drain it first.",
		Example: "phonebooth host drain rack-1\nphonebooth host remove rack-1",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		id, err := hostID(cmd.Context(), cmd, c, args[0])
		if err != nil {
			return err
		}
		if err := c.RemoveHost(cmd.Context(), id); err != nil {
			return err
		}
		note(cmd, "removed %s", id)
		return nil
	}
	return p.asks(cmd)
}
