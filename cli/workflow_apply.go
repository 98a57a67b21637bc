package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

func (p *program) workflowApply() *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Make a file the newest version of its workflow", Args: takes("FILE"),
		Long: "Makes a file the newest version of the workflow that it names, unless it already is. Versions never change: a task that " +
			"names one runs what it held when the task was submitted. FILE - is standard input.",
		Example: "phonebooth workflow apply dark-mode.yaml",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, err := readSource(cmd, args[0])
		if err != nil {
			return err
		}
		d, err := workflow.Parse(source)
		if err != nil {
			return inFile(args[0], err)
		}
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		w, err := c.ApplyWorkflow(cmd.Context(), d.Name, source)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), w)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s@%d\n", w.Name, w.Version)
		return err
	}
	return p.asks(cmd)
}

func readSource(cmd *cobra.Command, path string) (string, error) {
	var in io.Reader = cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", usage(cmd, "read the workflow: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, workflow.MaxSourceBytes+1)) // one more is refused by name of the limit
	if err != nil {
		return "", usage(cmd, "read the workflow: %w", err)
	}
	return string(text), nil
}

// inFile puts the name of the file before a mistake in it.
func inFile(path string, err error) error {
	e, ok := err.(*phonebooth.Error)
	if !ok {
		return err
	}
	return &failure{
		status: exitUsage, err: errors.New(located(path, e)), next: []string{"see all that is wrong with: phonebooth workflow check " + path},
	}
}
