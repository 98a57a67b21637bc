package cli

import (
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) hostResume() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume HOST", Short: "End a host's drain", Args: takes("HOST"),
		Long:    "Lets a host that was drained, given by its id or its name, take tasks again.",
		Example: "phonebooth host resume rack-1",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onHost(cmd, args, *out, (*client.Client).Resume)
	}
	return p.asks(cmd)
}
