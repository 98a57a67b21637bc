package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) logout() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout [URL]", Short: "Forget a server's token", Args: atMost("URL"),
		Long: "Removes the token of a server, the current one if none is given, from your configuration file. The token itself goes on being " +
			"the server's: whoever has it can log in with it.",
		Example: "phonebooth logout\nphonebooth logout https://phones.example.org:8420\nphonebooth logout --all",
	}
	all := cmd.Flags().Bool("all", false, "forget every server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kept, err := keptAccounts()
		if err != nil {
			return err
		}
		gone := slices.Sorted(maps.Keys(kept.Servers))
		if !*all {
			address, err := keptServer(cmd, kept, args)
			if err != nil {
				return err
			}
			gone = []string{address}
		} else if len(args) > 0 {
			return usage(cmd, "--all forgets every server: leave out URL")
		}
		if err := forget(gone); err != nil {
			return err
		}
		for _, address := range gone {
			say(cmd, "logged out of %s", address)
		}
		return nil
	}
	return cmd
}

// atMost refuses more arguments than there are names.
func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			names := names[:len(args)]
			return takes(names...)(cmd, args)
		}
		return takes(names...)(cmd, args)
	}
}

// keptServer is the server that an argument names, the current one if there is none, if a token is kept for it.
func keptServer(cmd *cobra.Command, kept accounts, args []string) (string, error) {
	address := kept.Current
	if len(args) > 0 {
		var err error
		if address, err = serverURL(args[0]); err != nil {
			return "", notURL(cmd, args[0], err)
		}
	}
	if _, known := kept.Servers[address]; known {
		return address, nil
	}
	if address == "" && len(kept.Servers) > 0 {
		return "", noServer(kept)
	}
	if address == "" {
		return "", &failure{status: exitUsage, err: errors.New("you are not logged in anywhere"), next: []string{"log in: phonebooth login URL"}}
	}
	return "", &failure{
		status: exitUsage, err: fmt.Errorf("no token is kept for %s", clean(address)),
		next: []string{"see for which servers one is: phonebooth login --show"},
	}
}

// showServers lists the servers that a token is kept for.
func showServers(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "--show lists all servers: leave out URL")
	}
	kept, err := keptAccounts()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, address := range slices.Sorted(maps.Keys(kept.Servers)) {
		current := ""
		if address == kept.Current {
			current = "current"
		}
		rows = append(rows, []string{address, current})
	}
	if err := printTable(cmd, "servers", []string{"SERVER", ""}, rows); err != nil {
		return err
	}
	if path, err := accountsPath(); err == nil && len(rows) > 0 {
		say(cmd, "their tokens are kept in %s", path)
	}
	return nil
}

// printToken prints the token that is kept for a server.
func printToken(cmd *cobra.Command, args []string) error {
	kept, err := keptAccounts()
	if err != nil {
		return err
	}
	address, err := keptServer(cmd, kept, args)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), kept.Servers[address].Token)
	return err
}

// whichServer refuses a login to nothing, with the servers that there are.
func whichServer(cmd *cobra.Command) error {
	refusal := usage(cmd, "URL is missing: which server?")
	if kept, err := keptAccounts(); err == nil && len(kept.Servers) > 0 {
		refusal.next = []string{"known are: " + strings.Join(slices.Sorted(maps.Keys(kept.Servers)), ", ")}
	}
	return refusal
}

// notURL refuses the address of a server; often only its beginning is missing.
func notURL(cmd *cobra.Command, text string, err error) error {
	refusal := usage(cmd, "%w", err)
	if !strings.Contains(text, "://") {
		if address, err := serverURL("https://" + text); err == nil {
			refusal.next = []string{"did you mean " + clean(address) + "? without a certificate it is http://"}
		}
	}
	return refusal
}
