package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

func (p *program) presetSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of presets, for editors", Args: takes(),
		Example: "phonebooth preset schema > preset.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), preset.Schema())
			return err
		},
	}
}
