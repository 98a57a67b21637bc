package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

func (p *program) presetCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with presets, and where",
		Long: "Reads presets as an agent does, and says of each mistake at which line and column it is and what is allowed there. A directory " +
			"stands for the .yaml and .yml files in it. Exit code 2: something is wrong.",
		Example: "phonebooth preset check my-agent.yaml\nphonebooth preset check /etc/phonebooth/presets",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "FILE is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			wrong, right := 0, 0
			for _, l := range preset.Load(args) {
				if l.Err == nil {
					right++
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is a preset\n", clean(l.File), l.Runner.Name); err != nil {
						return err
					}
					continue
				}
				wrong++
				for _, line := range explained(l) {
					say(cmd, "%s", line)
				}
			}
			switch {
			case wrong > 0:
				return &failure{status: exitUsage}
			case right == 0:
				return usage(cmd, "there are no .yaml or .yml files")
			}
			return nil
		},
	}
}
