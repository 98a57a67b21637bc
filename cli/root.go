package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// program is one run of the program.
type program struct {
	opts    Options
	signals signals
	access
}

// Groups of verbs in the help text.
const (
	groupTry     = "try"
	groupTasks   = "tasks"
	groupPool    = "pool"
	groupOperate = "operate"
)

func (p *program) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "phonebooth",
		Short: "One task at a time on every phone you own",
		Long: "Phonebooth gives tasks to phones: a caller hands in a goal, some matching device does it, one task at a time.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 cancelled, 4 refused by the server, 5 server not reachable, " +
			"130 Ctrl-C while waiting.",
		Example: `phonebooth submit --goal "open Settings and turn on dark mode" --wait
phonebooth task list
phonebooth device list`,
	})
	root.AddGroup(
		&cobra.Group{ID: groupTry, Title: "try it"}, &cobra.Group{ID: groupTasks, Title: "tasks"},
		&cobra.Group{ID: groupPool, Title: "pool"}, &cobra.Group{ID: groupOperate, Title: "operate"},
	)
	root.SetFlagErrorFunc(badFlag)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.ValidateFlagGroups(); err != nil { // cobra would look later, and call it no mistake of usage
			return badFlags(cmd, err)
		}
		return p.wholeTask(cmd, args)
	}
	add := func(id string, verbs ...*cobra.Command) {
		for _, verb := range verbs {
			verb.GroupID = id
			root.AddCommand(verb)
		}
	}
	add(groupTry, p.demo(), p.dev(), p.simdevice())
	add(groupTasks, p.submit(), p.task(), p.workflow(), p.event(), p.mcp())
	add(groupPool, p.device(), p.host())
	add(groupOperate, p.serve(), p.agent(), p.preset(), p.doctor(), p.login(), p.logout(), p.backup(), p.version())
	p.completes(root)
	return root
}

// group makes cmd a verb that only holds others.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, verb := range cmd.Commands() {
			if verb.IsAvailableCommand() {
				known = append(known, verb.Name())
			}
		}
		refusal := usage(cmd, "%q is no verb of %s; there are: %s", clean(args[0]), cmd.CommandPath(), strings.Join(known, ", "))
		if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
			refusal.next = []string{"did you mean " + cmd.CommandPath() + " " + strings.Join(close, " or ") + "?"}
		}
		return refusal
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// takes refuses any other number of arguments than there are names.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		at := slices.Index(args, "")
		switch {
		case at >= 0 && at < len(names):
			return usage(cmd, "%s is empty", names[at])
		case len(args) == len(names):
			return nil
		case len(names) == 0:
			return usage(cmd, "%s takes no arguments, only flags", cmd.CommandPath())
		case len(args) < len(names):
			return usage(cmd, "%s is missing", names[len(args)])
		}
		return usage(cmd, "more arguments than %s; put quotes around one that holds blanks", strings.Join(names, " "))
	}
}
