package cli

import (
	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) deviceList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the devices: what each is, and why it cannot take a task now", Args: takes(),
		Example: "phonebooth device list\nphonebooth device list -o json",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		devices, err := c.Devices(cmd.Context())
		if err != nil {
			return err
		}
		return printDevices(cmd, c, *out, v1.DeviceList{Devices: devices}, devices)
	}
	return p.asks(cmd)
}
