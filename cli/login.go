package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) login() *cobra.Command {
	cmd := &cobra.Command{
		Use: "login URL", Short: "Keep a server's token, and make it the current server", Args: atMost("URL"),
		Long: "Tries a token with a server, keeps it in your configuration file, readable by you alone, and makes the server the current one: " +
			"the one that other verbs ask when they are told nothing else.\n\n" +
			"The token is that of --token-file, --token or PHONEBOOTH_TOKEN, else the one that is kept for the server already, else " +
			"asked for on a terminal or read from standard input. The server's data directory holds it in admin.token.\n\n" +
			"Tokens of several servers are kept side by side: login with the URL of one that is known makes it the current one. --show lists " +
			"them, and the file that they are kept in; --show-token prints the token of one, as the dashboard asks for it.",
		Example: `phonebooth login http://127.0.0.1:8420 --token-file admin.token
phonebooth login https://phones.example.org:8420
phonebooth login --show
phonebooth login --show-token`,
	}
	flags := cmd.Flags()
	show := flags.Bool("show", false, "list the servers that a token is kept for, and change nothing")
	showToken := flags.Bool("show-token", false, "print the token that is kept for the server, the current one if none is given, and change nothing")
	flags.StringVar(&p.token, "token", "", "the token; others on this machine may see it in the process list: better --token-file")
	flags.StringVar(&p.tokenFile, "token-file", "", "file that holds the token")
	cmd.MarkFlagsMutuallyExclusive("show", "show-token", "token")
	cmd.MarkFlagsMutuallyExclusive("show", "show-token", "token-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *show:
			return showServers(cmd, args)
		case *showToken:
			return printToken(cmd, args)
		case len(args) == 0:
			return whichServer(cmd)
		}
		return p.logIn(cmd, args[0])
	}
	return cmd
}

// logIn tries a token with the server at text, and keeps it.
func (p *program) logIn(cmd *cobra.Command, text string) error {
	address, err := serverURL(text)
	if err != nil {
		return notURL(cmd, text, err)
	}
	given, err := p.givenToken(cmd)
	if err != nil {
		return err
	}
	kept, err := keptAccounts()
	if err != nil {
		return err
	}
	token := cmp.Or(given, kept.Servers[address].Token)
	if token != "" {
		err = try(cmd.Context(), address, token)
	}
	if token == "" || given == "" && phonebooth.CodeOf(err) == "unauthenticated" {
		if token, err = askToken(cmd, address); err == nil {
			err = try(cmd.Context(), address, token)
		}
	}
	if err != nil {
		return notIn(err)
	}
	if err := remember(address, token); err != nil {
		return err
	}
	if path, err := accountsPath(); err == nil {
		say(cmd, "logged in to %s; its token is kept in %s, readable by you alone", address, path)
	}
	if other := os.Getenv(envServer); other != "" && other != address {
		say(cmd, "as long as %s is set, verbs ask %s instead", envServer, other)
	}
	return nil
}

// notIn is why there is no login, with what to do: it is not to log in.
func notIn(err error) error {
	if phonebooth.CodeOf(err) != "unauthenticated" {
		return err
	}
	return &failure{status: exitCode(err), err: err, next: []string{
		"the server's token is the one line of admin.token in its data directory; nothing was kept",
	}}
}

// try asks the server something that needs the token.
func try(ctx context.Context, address, token string) error {
	c, err := client.New(address, token, client.Options{Patience: shortPatience})
	if err == nil {
		_, err = c.Hosts(ctx)
	}
	return err
}

// askToken reads a line, which a terminal does not show, unless Ctrl-C comes first.
func askToken(cmd *cobra.Command, address string) (string, error) {
	read := func() (string, error) { return bufio.NewReader(cmd.InOrStdin()).ReadString('\n') }
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(in.Fd()) {
		shown, err := term.MakeRaw(in.Fd())
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		defer func() {
			_ = term.Restore(in.Fd(), shown)
			_, _ = fmt.Fprintln(cmd.ErrOrStderr())
		}()
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "token for %s: ", address)
		read = func() (string, error) { return readTyped(in) }
	}
	var token string
	var err error
	done := make(chan struct{})
	go func() { // after a signal it reads until the process ends
		defer close(done)
		token, err = read()
	}()
	select {
	case <-done:
	case <-cmd.Context().Done():
		return "", cmd.Context().Err()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the token: %w", err)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", usage(cmd, "there is no token; the server's data directory holds it in admin.token")
	}
	return token, nil
}

// readTyped is a line from a raw terminal, where keys such as Ctrl-C are characters: nothing else ends the reading there and
// leaves no reader behind.
func readTyped(in io.Reader) (string, error) {
	const ctrlC, ctrlD, backspace, ctrlU, del = 3, 4, 8, 21, 127
	var line []byte
	for key := make([]byte, 1); ; {
		if _, err := io.ReadFull(in, key); err != nil {
			return string(line), err
		}
		switch key[0] {
		case '\r', '\n', ctrlD:
			return string(line), nil
		case ctrlC:
			return "", context.Canceled
		case backspace, del:
			line = line[:max(len(line)-1, 0)]
		case ctrlU:
			line = nil
		default:
			line = append(line, key[0])
		}
	}
}
