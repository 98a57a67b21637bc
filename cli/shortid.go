package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

// A person types the beginning or the end of a task's id; ids begin with the time, so the end tells them apart sooner.
const (
	leastOfID   = 5   // letters
	searchedFor = 500 // of the newest tasks
	shownOfMany = 5
)

var wholeID = regexp.MustCompile(`^task_[0-9a-z]{26}$`)

// wholeTask replaces a part of a task's id by the whole, where the verb's argument is a task. What fits none of the newest
// tasks is left for the server to refuse.
func (p *program) wholeTask(cmd *cobra.Command, args []string) error {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	if takes != "TASK" || len(args) != 1 || len(args[0]) < leastOfID || wholeID.MatchString(args[0]) {
		return nil
	}
	c, err := p.connect(cmd, -1)
	if err != nil {
		return nil // which the verb will tell
	}
	list, err := c.Tasks(cmd.Context(), client.TaskQuery{Limit: searchedFor})
	if err != nil {
		return nil
	}
	var fitting []string
	for _, t := range list.Tasks {
		if part := args[0]; strings.HasPrefix(t.ID, part) || strings.HasPrefix(t.ID, "task_"+part) || strings.HasSuffix(t.ID, part) {
			fitting = append(fitting, t.ID)
		}
	}
	switch len(fitting) {
	case 0:
		return nil
	case 1:
		if cmd.Name() == "cancel" && len(strings.TrimPrefix(args[0], "task_")) < leastOfID {
			refusal := usage(cmd, "%q is too little of a task's id to change the task; give more of it, or the end of it", clean(args[0]))
			refusal.next = fitting
			return refusal
		}
		args[0] = fitting[0]
		return nil
	}
	refusal := usage(cmd, "%q is a part of the ids of %d tasks; give more of it, or the end of one", clean(args[0]), len(fitting))
	refusal.next = fitting[:min(len(fitting), shownOfMany)]
	return refusal
}
