package cli

import (
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) deviceRelease() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release DEVICE", Short: "End the attempt that holds a device, by force", Args: takes("DEVICE"),
		Long: "Ends the attempt that holds a device, for one that is wedged. The task is tried again while attempts are left.\n\n" +
			"The device takes nothing until its host has confirmed that nothing of the attempt is left on it. To stop a task that is " +
			"not wedged use: phonebooth task cancel.",
		Example: "phonebooth device release emulator-5554",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onDevice(cmd, args, *out, (*client.Client).Release)
	}
	return p.asks(cmd)
}
