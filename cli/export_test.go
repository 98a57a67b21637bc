package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// ShownLines are the command lines that the help texts show, by verb.
func ShownLines() map[string][]string {
	all := map[string][]string{}
	for _, verb := range verbs(shipped()) {
		if verb.Example != "" {
			all[verb.CommandPath()] = strings.Split(verb.Example, "\n")
		}
	}
	return all
}

// shipped is the root of what ships.
func shipped() *cobra.Command {
	opts, err := Options{Version: "v1.2.3"}.withDefaults()
	if err != nil {
		panic(err)
	}
	return (&program{opts: opts}).root()
}

// verbs are cmd and all verbs below it.
func verbs(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, verb := range cmd.Commands() {
		all = append(all, verbs(verb)...)
	}
	return all
}
