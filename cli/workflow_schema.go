package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/workflow"
)

func (p *program) workflowSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of workflows, for editors", Args: takes(),
		Long: "Prints the JSON Schema of workflow files. An editor that knows the YAML language server uses it when a file begins with\n" +
			"# yaml-language-server: $schema=steps-v1.schema.json",
		Example: "phonebooth workflow schema > steps-v1.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(workflow.Schema(), "\n"))
			return err
		},
	}
}
