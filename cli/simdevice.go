package cli

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/internal/simdevice"
)

func (p *program) simdevice() *cobra.Command {
	cmd := &cobra.Command{
		Use: "simdevice", Short: "Be a phone that is not there, for adb connect", Args: takes(),
		Long: "Is the device side of ADB over TCP, with a small shell behind it: the real adb server lists it as a device and runs " +
			"commands such as getprop on it. For trying things out; it is no emulator. Ctrl-C ends it.",
		Example: `phonebooth simdevice --listen 127.0.0.1:5655 --model "Pixel 9"
adb connect 127.0.0.1:5655`,
	}
	var o simdevice.Options
	f := cmd.Flags()
	listen := f.String("listen", "127.0.0.1:5655", "address for adb connect, HOST:PORT; it asks for no key, so keep it on loopback")
	f.StringVar(&o.Serial, "serial", "PHONEBOOTH0001", "serial number, ro.serialno; give each phone its own")
	f.StringVar(&o.Model, "model", "Simphone", "model, ro.product.model")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", *listen)
		if err != nil {
			return &failure{status: exitFailed, err: fmt.Errorf("listen for adb: %w", err), next: []string{"give another address with --listen"}}
		}
		say(cmd, "a phone that is not there; attach it with: adb connect %s", l.Addr())
		return simdevice.New(o).Serve(cmd.Context(), l)
	}
	return cmd
}
