package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) task() *cobra.Command {
	return group(&cobra.Command{
		Use: "task", Short: "See tasks, their attempts, logs and files, and cancel them",
		Example: "phonebooth task list --status queued,dispatched\nphonebooth task get TASK\nphonebooth task cancel TASK",
	}, p.taskList(), p.taskShow(), p.taskLog(), p.taskExplain(), p.taskArtifacts(), p.taskCancel(), p.taskAttempts())
}

// asked is what a task asks for, in a few words: its goal or its workflow.
func asked(t v1.Task) string {
	if t.Workflow != nil {
		return fmt.Sprintf("workflow %s@%d", t.Workflow.Name, t.Workflow.Version)
	}
	return t.Goal
}

// wanted is what a device must be for the task, in a few words.
func wanted(c v1.Constraints) string {
	var parts []string
	for _, f := range []field{
		{"driver", c.DriverType}, {"runner", c.Runner}, {"tags", strings.Join(c.Tags, ",")}, {"device", c.DeviceID}, {"host", c.HostID},
	} {
		if f.value != "" {
			parts = append(parts, f.name+" "+clean(f.value))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "any device")
}

// because is a failure in one line, "" for none.
func because(f *v1.Failure) string {
	switch {
	case f == nil:
		return ""
	case f.Message == "":
		return f.Code
	case f.Code == "":
		return clean(f.Message)
	}
	return clean(f.Message) + " (" + f.Code + ")"
}

// standing is a task's status, with what is pending.
func standing(t v1.Task) string {
	if t.CancelRequested {
		return t.Status + ", cancel requested"
	}
	return t.Status
}

// lasted is how long something took from one time to another, or takes until now; "" before it began.
func lasted(from, to *time.Time) string {
	switch {
	case from == nil:
		return ""
	case to == nil:
		return age(*from)
	}
	return span(to.Sub(*from))
}
