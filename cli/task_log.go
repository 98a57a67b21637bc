package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
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
		Use: "log TASK", Short: "Print what the runner of a task wrote, also while it does", Args: takes("TASK"),
		Long: "Prints what the runner of a task wrote, as it wrote it. Each attempt has logs of its own; without --attempt it is the newest " +
			"one's. Beside what the runner wrote there are the commands that passed to the device, and the events that the runner told of, " +
			"one JSON value a line. Of a very long log the middle is left out, and a line says so.\n\n" +
			"With --follow it may start before the task does, and goes on over retries and restarts of the server until the task has ended and " +
			"its log is complete; the exit code then says how: 0 done, 1 failed, 3 cancelled. Standard output has the runner's bytes and nothing else; " +
			"which attempt they are of is told on standard error. With --attempt only that one is followed. Ctrl-C only stops to look. A terminal " +
			"is given the colours of a log, but nothing else in it that would steer the terminal.",
		Example: "phonebooth task log TASK --attempt 1\nphonebooth task log TASK --follow\nphonebooth task log TASK --name device\n" +
			"phonebooth task log TASK --step login",
	}
	var l logFlags
	flags := cmd.Flags()
	flags.IntVar(&l.attempt, "attempt", 0, "number of the attempt (default: the newest)")
	flags.StringVar(&l.name, "name", v1.LogRunner, "which log: "+strings.Join(logNames, ", "))
	flags.StringVar(&l.step, "step", "", "only what this step of a workflow that has ended wrote")
	flags.BoolVarP(&l.follow, "follow", "f", false, "go on until the task has ended, through later attempts too, and exit as it ended")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("name", cobra.FixedCompletions(logNames, cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.check(cmd); err != nil {
			return err
		}
		opts := client.Options{Patience: shortPatience}
		if l.follow {
			opts = client.Options{Patience: longPatience, Transport: newOutages(cmd)}
		}
		c, err := p.connectWith(cmd, opts)
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
	out := printer(cmd, c, task)
	defer out.close()
	switch {
	case l.step != "":
		now, err := c.Task(ctx, task)
		if err != nil {
			return err
		}
		step, err := stepOf(cmd, now, l.step)
		if err != nil {
			return err
		}
		return c.CopySection(ctx, out.out, task, client.LogQuery{Attempt: now.Attempt, Offset: step.LogOffset}, step.LogBytes)
	case !l.follow:
		return l.printNow(cmd, c, out, task)
	}
	status, err := out.follow(ctx, client.LogQuery{Name: l.name, Attempt: l.attempt})
	switch {
	case ctx.Err() != nil:
		return &failure{status: exitInterrupted} // Ctrl-C is how one stops to look
	case err != nil || !phonebooth.Status(status).Terminal():
		return err
	}
	now, err := c.Task(ctx, task)
	if err != nil {
		return err
	}
	return endingOf(now)
}

// printNow prints what is written so far. A task that no attempt has begun of has no log: that is said.
func (l logFlags) printNow(cmd *cobra.Command, c *client.Client, out *logPrinter, task string) error {
	log, err := c.Log(cmd.Context(), task, l.attempt, l.name, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	if n, err := io.Copy(out.out, log); n > 0 || err != nil {
		return err
	}
	if now, err := c.Task(cmd.Context(), task); err == nil && now.Attempt == 0 {
		say(cmd, "there is no log: the task is %s and no attempt has begun; why: phonebooth task explain %s", now.Status, task)
	}
	return nil
}
