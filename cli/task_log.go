package cli

import (
	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) taskLog() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log TASK", Short: "Print what the runner of a task wrote", Args: takes("TASK"),
		Long: "Prints what the runner of a task wrote, as it wrote it. Each attempt has a log of its own; without --attempt it is the newest " +
			"one's. Of a very long log the middle is left out, and a line says so.",
		Example: "phonebooth task log TASK\nphonebooth task log TASK --attempt 1\nphonebooth task log TASK --follow",
	}
	attempt := cmd.Flags().Int("attempt", 0, "number of the attempt (default: the newest)")
	follow := cmd.Flags().BoolP("follow", "f", false, "go on until the task has ended, through later attempts too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *attempt < 0 || *attempt == 0 && cmd.Flags().Changed("attempt"):
			return usage(cmd, "attempts are numbered from 1")
		case *attempt > 0 && *follow:
			return usage(cmd, "--follow is for the newest attempt: leave out --attempt")
		}
		patience := shortPatience
		if *follow {
			patience = longPatience
		}
		c, err := p.connect(cmd, patience)
		if err != nil {
			return err
		}
		t := &tail{client: c, task: args[0], attempt: *attempt, name: v1.LogRunner, out: cmd.OutOrStdout()}
		if !*follow {
			return t.copy(cmd.Context())
		}
		_, err = c.Wait(cmd.Context(), args[0], func(task v1.Task) { t.seen(cmd, task) })
		if cmd.Context().Err() != nil {
			return nil // Ctrl-C is how one stops to look
		}
		if err != nil {
			return err
		}
		return t.finish(cmd.Context())
	}
	return p.asks(cmd)
}
