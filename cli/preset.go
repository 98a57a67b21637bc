package cli

import (
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

func (p *program) preset() *cobra.Command {
	return group(&cobra.Command{
		Use: "preset", Short: "See what this machine can run, and check presets of your own",
		Long: "A preset is a YAML file that says how a Host Agent runs an existing program; tasks ask for it by name with --runner.",
		Example: `phonebooth preset list --config agent.yaml
phonebooth preset check /etc/phonebooth/presets`,
	}, p.presetList(), p.presetCheck(), schemaOf("preset", "preset.schema.json", preset.Schema()))
}
