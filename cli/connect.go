package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

// Variables of the environment that say which server, and who one is.
const (
	envServer = "PHONEBOOTH_SERVER"
	envToken  = "PHONEBOOTH_TOKEN"
)

// How long a call is repeated while the server does not answer: a person at a prompt wants to know soon, a verb that waits
// for a task outlives a restart of the server, and one that follows has nothing else to do.
const (
	shortPatience = 2 * time.Second
	longPatience  = 2 * time.Minute
	endless       = time.Duration(math.MaxInt64) // until Ctrl-C
)

// access is which server a verb asks, and with which token.
type access struct{ server, token, tokenFile string }

// asks gives cmd the flags of a verb that asks a server.
func (p *program) asks(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&p.server, "server", "", "the server's URL (default: "+envServer+", else the one of the last dev or login)")
	flags.StringVar(&p.token, "token", "", "the token; others on this machine may see it in the process list: better --token-file or "+envToken)
	flags.StringVar(&p.tokenFile, "token-file", "", "a file that holds the token (default: "+envToken+", else the one kept for the server)")
	return cmd
}

// connect makes the client for a verb that made its flags with asks. It does not call the server yet.
func (p *program) connect(cmd *cobra.Command, patience time.Duration) (*client.Client, error) {
	return p.connectWith(cmd, client.Options{Patience: patience})
}

// connectWith is connect with more to say about the client.
func (p *program) connectWith(cmd *cobra.Command, opts client.Options) (*client.Client, error) {
	address, token, err := p.account(cmd)
	if err != nil {
		return nil, err
	}
	return p.clientOf(address, token, opts)
}

func (p *program) clientOf(address, token string, opts client.Options) (*client.Client, error) {
	opts.UserAgent = "phonebooth-cli/" + p.opts.Version
	return client.New(address, token, opts)
}

// account is the server to talk to and the token for it, from the flags, the environment or a login.
func (p *program) account(cmd *cobra.Command) (address, token string, err error) {
	kept, err := keptAccounts()
	if err != nil {
		return "", "", err
	}
	address = p.server
	for _, other := range []string{os.Getenv(envServer), kept.Current} {
		if address == "" {
			address = other
		}
	}
	if address == "" {
		return "", "", noServer(kept)
	}
	if address, err = serverURL(address); err != nil {
		return "", "", usage(cmd, "%w", err)
	}
	token, err = p.givenToken(cmd)
	if err != nil {
		return "", "", err
	}
	if token == "" {
		token = kept.Servers[address].Token
	}
	if token == "" {
		return "", "", &failure{status: exitUsage, err: fmt.Errorf("there is no token for %s", address), next: []string{
			"log in: phonebooth login " + address, "or give one with --token-file or " + envToken,
		}}
	}
	return address, token, nil
}

// noServer says that it is not known which server is meant, and what to do about it.
func noServer(kept accounts) *failure {
	if len(kept.Servers) == 0 {
		return &failure{status: exitUsage, err: errors.New("no server is known yet"), next: []string{
			"start one on this machine: phonebooth dev", "or log in to one: phonebooth login URL",
		}}
	}
	return &failure{status: exitUsage, err: errors.New("there is no current server"), next: []string{
		"known are: " + strings.Join(slices.Sorted(maps.Keys(kept.Servers)), ", "), "make one the current one: phonebooth login URL",
	}}
}

func keptAccounts() (accounts, error) {
	path, err := accountsPath()
	if err != nil { // no home: nothing can be kept there
		return accounts{}, nil
	}
	return readAccounts(path)
}

// givenToken is the token of the flags or the environment, "" when there is none.
func (p *program) givenToken(cmd *cobra.Command) (string, error) {
	switch {
	case p.token != "" && p.tokenFile != "":
		return "", usage(cmd, "--token and --token-file exclude each other")
	case p.token != "":
		return p.token, nil
	case p.tokenFile != "":
		return tokenIn(cmd, p.tokenFile)
	}
	return os.Getenv(envToken), nil
}

// tokenIn is the one line of a file.
func tokenIn(cmd *cobra.Command, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", usage(cmd, "read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", usage(cmd, "%s holds no token: it must be one line", path)
	}
	return token, nil
}
