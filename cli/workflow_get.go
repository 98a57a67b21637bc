package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) workflowGet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get NAME[@VERSION]", Short: "Print a workflow as it was applied", Args: takes("NAME"),
		Long:    "Prints the text of a workflow as it was applied: its newest version, or the one that is named.",
		Example: "phonebooth workflow get dark-mode\nphonebooth workflow get dark-mode@1 > dark-mode.yaml",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, version, err := workflowRef(cmd, args[0])
		if err != nil {
			return err
		}
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		w, err := c.Workflow(cmd.Context(), name, version)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), w)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(w.Source, "\n"))
		return err
	}
	return p.asks(cmd)
}
