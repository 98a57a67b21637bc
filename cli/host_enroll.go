package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) hostEnroll() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enroll", Short: "Make a one-time token with which a machine becomes a host", Args: takes(),
		Long: "Makes a one-time token, valid for an hour, and prints it. On the machine that shall become a host put it into a file and " +
			"start the agent with --enroll-file.",
		Example: `phonebooth host enroll --name rack-1 > token
phonebooth agent --server https://phones:8420 --enroll-file token`,
	}
	out := prints(cmd)
	name := cmd.Flags().String("name", "", "name of the host (default: the one that its agent gives)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		e, err := c.Enrollment(cmd.Context(), *name)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), e)
		}
		note(cmd, "valid once, until %s; on the new host: phonebooth agent --server %s --enroll-file FILE", stamp(&e.ExpiresAt), c.Server())
		_, err = fmt.Fprintln(cmd.OutOrStdout(), e.Token)
		return err
	}
	return p.asks(cmd)
}
