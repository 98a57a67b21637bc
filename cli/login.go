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
		Use: "login URL", Short: "Keep a server's token, and make it the current server", Args: takes("URL"),
		Long: "Tries a token with a server, keeps it in your configuration file, readable by you alone, and makes the server the current one: " +
			"the one that other verbs ask when they are told nothing else.\n\n" +
			"The token is that of --token-file, --token or PHONEBOOTH_TOKEN, else the one that is kept for the server already, else " +
			"asked for on a terminal or read from standard input. The server's data directory holds it in admin.token.",
		Example: `phonebooth login http://127.0.0.1:8420 --token-file admin.token
phonebooth login https://phones.example.org:8420`,
	}
	flags := cmd.Flags()
	flags.StringVar(&p.token, "token", "", "the token; others on this machine may see it in the process list: better --token-file")
	flags.StringVar(&p.tokenFile, "token-file", "", "file that holds the token")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		address, err := serverURL(args[0])
		if err != nil {
			return usage(cmd, "%w", err)
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
			return err
		}
		if err := remember(address, token); err != nil {
			return err
		}
		say(cmd, "logged in to %s", address)
		return nil
	}
	return cmd
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
