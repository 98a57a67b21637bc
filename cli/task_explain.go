package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) taskExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain TASK", Short: "Say why a task waits, where it runs, or how it ended", Args: takes("TASK"),
		Long: "Says in sentences why a task stands where it does. Of a queued task: what each of its constraints leaves of the pool, who holds " +
			"the devices that are left or what keeps them from it, and which tasks are ahead of it for those very devices. Of a running one: why it " +
			"is on its device and what is pending. Of an ended one: what happened at each attempt. It changes nothing.",
		Example: "phonebooth task explain TASK\nphonebooth task explain TASK -o json\nphonebooth submit --goal \"uptime\" --tag pixel --dry-run",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		e, err := c.Explain(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return printExplanation(cmd, *out, e)
	}
	return p.asks(cmd)
}

// dryRun says what a submission of r would meet; one that would be refused ends as the submission would.
func dryRun(cmd *cobra.Command, c *client.Client, out format, r v1.TaskRequest) error {
	e, err := c.ExplainRequest(cmd.Context(), r)
	if err != nil {
		return err
	}
	if err := printExplanation(cmd, out, e); err != nil || e.Refusal == nil {
		return err
	}
	return &failure{status: exitRefused, err: errors.New(because(e.Refusal))}
}

// printExplanation prints the server's sentences, one a line; names in them are other people's.
func printExplanation(cmd *cobra.Command, out format, e v1.Explanation) error {
	if out == formatJSON {
		return printJSON(cmd.OutOrStdout(), e)
	}
	if e.TaskID != "" {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), clean(e.TaskID)+" is "+e.Status+"."); err != nil {
			return err
		}
	}
	for _, sentence := range e.Sentences {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), clean(sentence)); err != nil {
			return err
		}
	}
	return nil
}
