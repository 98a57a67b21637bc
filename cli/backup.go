package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/internal/server"
)

func (p *program) backup() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write a consistent copy of the embedded database", Args: takes("FILE"),
		Long: "Writes a consistent copy of the SQLite database in the data directory to a new file, also while a server runs on it. To " +
			"restore it put it back as phonebooth.db while no server runs. The admin token, and the logs and artifacts below " +
			"logs, are plain files of the data directory: copy them as well. A PostgreSQL database is copied with its own tools.",
		Example: "phonebooth backup --data /var/lib/phonebooth /backups/monday.db",
	}
	data := cmd.Flags().String("data", defaultServer().Data, "data directory of the server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *data == "" {
			return usage(cmd, "the data directory is missing")
		}
		if _, err := os.Stat(filepath.Join(*data, "phonebooth.db")); err != nil {
			return usage(cmd, "there is no database in %s: %w", *data, errors.Unwrap(err))
		}
		if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
			return usage(cmd, "%s is there already; a backup is a new file", args[0])
		}
		if err := server.Backup(cmd.Context(), *data, "", args[0]); err != nil {
			return fmt.Errorf("back up %s: %w", *data, err)
		}
		note(cmd, "wrote %s", args[0])
		return nil
	}
	return cmd
}
