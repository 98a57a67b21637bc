package cli

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/mcp"
)

func (p *program) mcp() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an AI agent use the pool: a Model Context Protocol server on standard input and output", Args: takes(),
		Long: "Speaks the Model Context Protocol on standard input and output, for an AI agent that starts it. It goes on when the server is away, and without a " +
			"login it waits for one. It ends when standard input does.",
		Example: "phonebooth mcp",
	}
	logs := defaultLogs()
	logs.Level = level(slog.LevelWarn) // the library's own news are no news to a person
	logs.bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var mu sync.Mutex
		var found *client.Client
		var keptAddress, keptToken string
		connect := func() (*client.Client, error) { // a client is kept for its connections, until the login changes
			address, token, err := p.account(cmd)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			if found != nil && address == keptAddress && token == keptToken {
				return found, nil
			}
			c, err := p.clientOf(address, token, client.Options{Patience: shortPatience})
			if err == nil {
				found, keptAddress, keptToken = c, address, token
			}
			return c, err
		}
		s := mcp.New(connect, mcp.Options{Version: p.opts.Version, Log: logs.logger(cmd.ErrOrStderr())})
		return s.Run(cmd.Context(), os.Stdin, unclosed{os.Stdout})
	}
	return p.asks(cmd)
}

// unclosed is a stream that belongs to the process.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
