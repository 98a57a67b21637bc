package cli

import (
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) deviceUncordon() *cobra.Command {
	cmd := &cobra.Command{
		Use: "uncordon DEVICE", Short: "Let a cordoned or quarantined device take tasks again", Args: takes("DEVICE"),
		Long: "Lets a device, given by its id or its name, take tasks again: one that somebody has cordoned, or one that the server has " +
			"quarantined because it failed several tasks quickly in a row. Why it was kept from them stands in phonebooth device list.",
		Example: "phonebooth device uncordon emulator-5554",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onDevice(cmd, args, *out, (*client.Client).Uncordon)
	}
	return p.asks(cmd)
}
