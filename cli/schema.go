package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// schemaOf is the verb schema of a verb whose files have a JSON Schema. name is that of the file to keep it in.
func schemaOf(verb, name, schema string) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of " + verb + " files, for editors", Args: takes(),
		Long: "Prints the JSON Schema of " + verb + " files. An editor that knows the YAML language server uses it when a file begins with\n" +
			"# yaml-language-server: $schema=" + name,
		Example: "phonebooth " + verb + " schema > " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(schema, "\n"))
			return err
		},
	}
}
