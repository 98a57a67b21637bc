package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

func (p *program) workflowCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with workflows, without a server", Args: takesSome("FILE"),
		Long: "Reads each file as a workflow and prints all that is wrong as file:line:column. FILE - is standard input. Exit code 2 when " +
			"something is wrong. Which runners and inputs there are is not checked: the hosts and the task say that.",
		Example: "phonebooth workflow check *.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong failure
			for _, path := range args {
				source, err := readSource(cmd, path)
				if err != nil {
					return err
				}
				d, problems := workflow.Check(source)
				for _, problem := range problems {
					say(cmd, "%s", located(path, problem))
					wrong.status = exitUsage
				}
				if len(problems) == 0 {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s\n", clean(path), d.Name, counted(len(d.Steps), "step")); err != nil {
						return err
					}
				}
			}
			if wrong.status != exitDone {
				return &wrong
			}
			return nil
		},
	}
}

// takesSome refuses no arguments, and empty ones.
func takesSome(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(cmd, "%s is missing", name)
		case slices.Contains(args, ""):
			return usage(cmd, "%s is empty", name)
		}
		return nil
	}
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// located is a mistake as compilers show it: file:line:column, then what it is.
func located(path string, e *phonebooth.Error) string {
	place, message := path, e.Message
	if line, column := e.Detail["line"], e.Detail["column"]; line != "" {
		place += ":" + line + ":" + column
		message = strings.TrimPrefix(message, fmt.Sprintf("line %s, column %s: ", line, column))
	}
	return place + ": " + message
}
