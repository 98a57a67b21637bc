package cli

import (
	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) hostList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the hosts: whether each takes tasks, and what it has", Args: takes(),
		Long: "Lists the hosts that were not removed. A host that is ready takes tasks. One that is silent has not been heard for a while, and " +
			"one that is deaf does not fetch what it is given: both end by themselves when its agent is back.",
		Example: "phonebooth host list\nphonebooth host list -o json",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		hosts, err := c.Hosts(cmd.Context())
		if err != nil {
			return err
		}
		return printHosts(cmd, *out, v1.HostList{Hosts: hosts}, hosts)
	}
	return p.asks(cmd)
}
