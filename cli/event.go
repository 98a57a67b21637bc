package cli

import "github.com/spf13/cobra"

func (p *program) event() *cobra.Command {
	return group(&cobra.Command{
		Use: "event", Short: "Follow what happens",
		Example: "phonebooth event follow",
	}, p.eventFollow())
}
