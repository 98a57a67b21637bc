package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (p *program) taskShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get TASK", Short: "Show a task: where it stands, its steps, and every attempt at it", Args: takes("TASK"),
		Long: "Shows all that is known of a task: where it stands, what it asks for, what it came to, the steps of a workflow, and every " +
			"attempt. With -o json it is the task as the API gives it. Why it stands there says phonebooth task explain.",
		Example: "phonebooth task get TASK\nphonebooth task get TASK -o json",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		t, err := c.Task(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), t)
		}
		attempts, err := c.Attempts(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		device, host, err := poolNames(cmd, c)
		if err != nil {
			return err
		}
		var steps []v1.StepResult
		steps, t.Result = stepsOf(t)
		if err := printPage(cmd.OutOrStdout(), taskPage(t, device, host)); err != nil {
			return err
		}
		if len(steps) > 0 {
			if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
				return err
			}
			if err := printSteps(cmd, steps); err != nil {
				return err
			}
		}
		if len(attempts) == 0 {
			return nil
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
			return err
		}
		return printAttempts(cmd, attempts, device, host)
	}
	return p.asks(cmd)
}

func taskPage(t v1.Task, device, host func(string) string) []field {
	seconds := func(s int64) string {
		if s == 0 {
			return ""
		}
		return (time.Duration(s) * time.Second).String()
	}
	page := []field{
		{"id", t.ID},
		{"status", standing(t)},
		{"failure", because(t.Failure)},
		{"goal", clean(t.Goal)},
	}
	if t.Workflow != nil {
		page = append(page, field{"workflow", asked(t)}, field{"inputs", clean(string(t.Workflow.Inputs))})
	}
	return append(page,
		field{"wants", wanted(t.Constraints)},
		field{"device", clean(device(t.DeviceID))},
		field{"host", clean(host(t.HostID))},
		field{"attempt", fmt.Sprintf("%d of %d", t.Attempt, t.MaxAttempts)},
		field{"priority", strconv.Itoa(t.Priority)},
		field{"timeout", seconds(t.TimeoutS)},
		field{"queue timeout", seconds(t.QueueTimeoutS)},
		field{"labels", labels(t.Labels)},
		field{"created", stamp(&t.CreatedAt)},
		field{"assigned", stamp(t.AssignedAt)},
		field{"dispatched", stamp(t.DispatchedAt)},
		field{"finished", stamp(t.FinishedAt)},
		field{"lease until", stamp(t.LeaseExpiresAt)},
		field{"result", clean(string(t.Result))},
	)
}

func labels(all map[string]string) string {
	var pairs []string
	for key, value := range all {
		pairs = append(pairs, clean(key+"="+value))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ", ")
}
