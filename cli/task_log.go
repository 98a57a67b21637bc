package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// logNames are the logs that an attempt has.
var logNames = []string{v1.LogRunner, v1.LogDevice, v1.LogEvents}

// logFlags say what of which log is wanted.
type logFlags struct {
	attempt int
	name    string
	step    string
	follow  bool
}

func (p *program) taskLog() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log TASK", Short: "Print what the runner of a task wrote", Args: takes("TASK"),
		Long: "Prints what the runner of a task wrote, as it wrote it. Each attempt has logs of its own; without --attempt it is the newest " +
			"one's. Beside what the runner wrote there are the commands that passed to the device, and the events that the runner told of, " +
			"one JSON value a line. Of a very long log the middle is left out, and a line says so.",
		Example: "phonebooth task log TASK --attempt 1\nphonebooth task log TASK --follow\nphonebooth task log TASK --name device\n" +
			"phonebooth task log TASK --step login",
	}
	var l logFlags
	flags := cmd.Flags()
	flags.IntVar(&l.attempt, "attempt", 0, "number of the attempt (default: the newest)")
	flags.StringVar(&l.name, "name", v1.LogRunner, "which log: "+strings.Join(logNames, ", "))
	flags.StringVar(&l.step, "step", "", "only what this step of a workflow that has ended wrote")
	flags.BoolVarP(&l.follow, "follow", "f", false, "go on until the task has ended, through later attempts too")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("name", cobra.FixedCompletions(logNames, cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.check(cmd); err != nil {
			return err
		}
		patience := shortPatience
		if l.follow {
			patience = longPatience
		}
		c, err := p.connect(cmd, patience)
		if err != nil {
			return err
		}
		return l.print(cmd, c, args[0])
	}
	return p.asks(cmd)
}

// check refuses flags that make no sense together.
func (l logFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case l.attempt < 0 || l.attempt == 0 && changed("attempt"):
		return usage(cmd, "attempts are numbered from 1")
	case l.attempt > 0 && l.follow:
		return usage(cmd, "--follow is for the newest attempt: leave out --attempt")
	case !slices.Contains(logNames, l.name):
		return usage(cmd, "there is no log %q; there are: %s", clean(l.name), strings.Join(logNames, ", "))
	case l.step == "" && changed("step"):
		return usage(cmd, "--step wants the id of a step; see phonebooth task get")
	case l.step != "" && (l.follow || l.attempt > 0 || l.name != v1.LogRunner):
		return usage(cmd, "--step is for what the runner wrote in the attempt that ended the task: leave out --follow, --attempt and --name")
	}
	return nil
}

func (l logFlags) print(cmd *cobra.Command, c *client.Client, task string) error {
	ctx := cmd.Context()
	t := &tail{client: c, task: task, attempt: l.attempt, name: l.name, out: cmd.OutOrStdout()}
	if l.step != "" {
		now, err := c.Task(ctx, task)
		if err != nil {
			return err
		}
		step, err := stepOf(cmd, now, l.step)
		if err != nil {
			return err
		}
		t.attempt = now.Attempt
		return t.copySection(ctx, step.LogOffset, step.LogBytes)
	}
	if !l.follow {
		return t.copy(ctx)
	}
	_, err := c.Wait(ctx, task, func(now v1.Task) { t.seen(cmd, now) })
	if ctx.Err() != nil {
		return nil // Ctrl-C is how one stops to look
	}
	if err != nil {
		return err
	}
	return t.finish(ctx)
}
