package cli

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) taskArtifacts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "artifacts TASK", Short: "List the files that a task left, or save them", Args: takes("TASK"),
		Long: "Lists the files that the attempts at a task left. With --save it writes those of one attempt, the newest unless --attempt says " +
			"another, into a directory, under their names. Files that are there already are never overwritten: one with the same content is " +
			"passed over, another one is refused. A file is there once it has arrived whole. The last ones may come after the task has ended: " +
			"it is said how many are on their way, and --save waits for them, for as long as their host may send them.",
		Example: "phonebooth task artifacts TASK\nphonebooth task artifacts TASK --save out\nphonebooth task artifacts TASK --attempt 1 -o json",
	}
	out := prints(cmd)
	attempt := cmd.Flags().Int("attempt", 0, "only what this attempt left (default: list all, save the newest)")
	dir := cmd.Flags().String("save", "", "write the files into this directory, which is made if it is not there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *attempt < 0 || *attempt == 0 && cmd.Flags().Changed("attempt"):
			return usage(cmd, "attempts are numbered from 1")
		case *dir == "" && cmd.Flags().Changed("save"):
			return usage(cmd, "--save wants a directory")
		}
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		if *dir != "" {
			return saveAll(cmd, c, args[0], *attempt, *dir, *out)
		}
		list, err := c.ArtifactList(cmd.Context(), args[0], *attempt)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), list)
		}
		if list.Coming > 0 {
			say(cmd, "%d more are on their way from the host", list.Coming)
		}
		return printArtifacts(cmd, list.Artifacts)
	}
	return p.asks(cmd)
}

// comingLook is how often to see what has arrived of that which is on its way.
const comingLook = 500 * time.Millisecond

// saveAll writes the files of one attempt below dir: those that are there, and then those that come, until none is on its way.
func saveAll(cmd *cobra.Command, c *client.Client, id string, attempt int, dir string, out format) error {
	attempt, err := chosenAttempt(cmd, c, id, attempt)
	if err != nil {
		return err
	}
	saved := map[string]bool{}
	for {
		list, err := c.ArtifactList(cmd.Context(), id, attempt)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(list.Artifacts), func(a v1.Artifact) bool { return saved[a.Name+a.SHA256] })
		if err := saveArtifacts(cmd, c, id, dir, fresh, out); err != nil {
			return err
		}
		for _, a := range fresh {
			saved[a.Name+a.SHA256] = true
		}
		switch {
		case list.Coming == 0 && out == formatJSON:
			return printJSON(cmd.OutOrStdout(), list)
		case list.Coming == 0 && len(saved) == 0:
			return printArtifacts(cmd, nil)
		case list.Coming == 0:
			return nil
		}
		note(cmd, "%d are here; waiting for %d more that are on their way from the host", len(list.Artifacts), list.Coming)
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(comingLook):
		}
	}
}

// chosenAttempt is the attempt whose files are saved, the newest if none is named: names are unique within an attempt only.
func chosenAttempt(cmd *cobra.Command, c *client.Client, id string, attempt int) (int, error) {
	if attempt != 0 {
		return attempt, nil
	}
	t, err := c.Task(cmd.Context(), id)
	if err != nil || t.Attempt < 2 {
		return t.Attempt, err
	}
	list, err := c.Artifacts(cmd.Context(), id, 0)
	if err != nil {
		return 0, err
	}
	for number := 1; number < t.Attempt; number++ {
		if slices.ContainsFunc(list, func(a v1.Artifact) bool { return a.Attempt == number }) {
			say(cmd, "attempt %d left files too: add --attempt %d", number, number)
		}
	}
	return t.Attempt, nil
}

func printArtifacts(cmd *cobra.Command, list []v1.Artifact) error {
	var rows [][]string
	for _, a := range list {
		rows = append(rows, []string{strconv.Itoa(a.Attempt), a.Name, strconv.FormatInt(a.Bytes, 10), a.ContentType, a.SHA256})
	}
	return printTable(cmd, "artifacts", []string{"ATTEMPT", "NAME", "BYTES", "TYPE", "SHA256"}, rows)
}

// size is a number of bytes that a person reads at a glance.
func size(bytes int64) string {
	switch {
	case bytes < 10<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 10<<20:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// broke tells that the bytes of an answer did not come to their end.
func broke(what string, err error) error {
	return phonebooth.Errorf(phonebooth.Unavailable, client.Unreachable, "the connection broke before all of %s was read; try again", what).Because(err)
}
