package cli

import (
	"fmt"
	"slices"
	"strconv"

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
			"passed over, another one is refused. A file is there once it has arrived whole; the last ones may come after the task has ended.",
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
		list, err := c.Artifacts(cmd.Context(), args[0], *attempt)
		if err != nil {
			return err
		}
		if *dir != "" {
			if list, err = ofOneAttempt(cmd, c, args[0], *attempt, list); err != nil {
				return err
			}
			if err := saveArtifacts(cmd, c, args[0], *dir, list, *out); err != nil {
				return err
			}
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), v1.ArtifactList{Artifacts: list})
		}
		if *dir != "" && len(list) > 0 {
			return nil
		}
		return printArtifacts(cmd, list)
	}
	return p.asks(cmd)
}

// ofOneAttempt is what of list is to be saved: names are unique within an attempt only.
func ofOneAttempt(cmd *cobra.Command, c *client.Client, id string, attempt int, list []v1.Artifact) ([]v1.Artifact, error) {
	if attempt != 0 {
		return list, nil
	}
	t, err := c.Task(cmd.Context(), id)
	if err != nil {
		return nil, err
	}
	others := map[int]bool{}
	list = slices.DeleteFunc(list, func(a v1.Artifact) bool {
		if a.Attempt != t.Attempt {
			others[a.Attempt] = true
		}
		return a.Attempt != t.Attempt
	})
	for number := 1; number < t.Attempt; number++ {
		if others[number] {
			say(cmd, "attempt %d left files too: add --attempt %d", number, number)
		}
	}
	return list, nil
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
