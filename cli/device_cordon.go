package cli

import (
	"context"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) deviceCordon() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cordon DEVICE", Short: "Keep new tasks from a device", Args: takes("DEVICE"),
		Long:    "Keeps new tasks from a device, given by its id or its name. What runs on it goes on.",
		Example: "phonebooth device cordon emulator-5554 --reason \"battery swap\"",
	}
	out := prints(cmd)
	reason := cmd.Flags().String("reason", "", "why, for everybody who looks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onDevice(cmd, args, *out, func(c *client.Client, ctx context.Context, id string) (v1.Device, error) {
			return c.Cordon(ctx, id, *reason)
		})
	}
	return p.asks(cmd)
}
