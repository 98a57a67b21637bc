package cli

import (
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) hostDrain() *cobra.Command {
	cmd := &cobra.Command{
		Use: "drain HOST", Short: "Start nothing new on a host", Args: takes("HOST"),
		Long:    "Starts nothing new on a host, given by its id or its name. What runs may end; then its state is drained.",
		Example: "phonebooth host drain rack-1",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onHost(cmd, args, *out, (*client.Client).Drain)
	}
	return p.asks(cmd)
}
