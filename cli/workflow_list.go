package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) workflowList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest version of each workflow", Args: takes(),
		Long:    "Lists the workflows that tasks can name, each with its newest version. Older versions stay, and can be named too.",
		Example: "phonebooth workflow list\nphonebooth workflow list -o json",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		workflows, err := c.Workflows(cmd.Context())
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), v1.WorkflowList{Workflows: workflows})
		}
		var rows [][]string
		for _, w := range workflows {
			rows = append(rows, []string{w.Name, strconv.Itoa(w.Version), stamp(&w.CreatedAt)})
		}
		return printTable(cmd, "workflows", []string{"NAME", "VERSION", "APPLIED"}, rows)
	}
	return p.asks(cmd)
}
