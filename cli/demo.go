package cli

import (
	"log/slog"
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/internal/playground"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

func (p *program) demo() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole story in half a minute: no phone, no database, no network", Args: takes(),
		Long: "Runs a control plane and a host with four simulated devices, and a dozen tasks: one fails, one is cancelled in the middle, and " +
			"one survives the kill of its runner. Ends with 0 only if every task ended as told. Leaves nothing behind.",
		Example: "phonebooth demo",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		runners, err := p.opts.Runners()
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		file, ok := out.(*os.File)
		return playground.Demo(cmd.Context(), playground.Options{
			Strategies: p.opts.Strategies, Strategy: strategies.Default, Runners: runners, Version: p.opts.Version,
			Log: slog.New(slog.DiscardHandler),
		}, out, func() (columns, rows int, known bool) {
			if !ok || !term.IsTerminal(file.Fd()) {
				return 0, 0, false
			}
			columns, rows, err := term.GetSize(file.Fd())
			return columns, rows, err == nil
		})
	}
	return cmd
}
