package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) version() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: takes(),
		Long:    "Prints the version of this program and of the API that it speaks. It asks no server.",
		Example: "phonebooth version\nphonebooth version -o json",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := v1.Version{Version: p.opts.Version, API: "v1"}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), v)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "phonebooth %s, API %s\n", v.Version, v.API)
		return err
	}
	return cmd
}
