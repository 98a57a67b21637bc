package cli

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) taskAttempts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "attempts TASK", Short: "List every attempt at a task, with its ending", Args: takes("TASK"),
		Long: "Lists every attempt at a task, the first one first: on which device of which host, which program ran, how it ended and why. " +
			"FENCE says how the program is kept off the device when the lease is lost.",
		Example: "phonebooth task attempts TASK",
	}
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(cmd, shortPatience)
		if err != nil {
			return err
		}
		attempts, err := c.Attempts(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), v1.AttemptList{Attempts: attempts})
		}
		device, host, err := poolNames(cmd, c)
		if err != nil {
			return err
		}
		return printAttempts(cmd, attempts, device, host)
	}
	return p.asks(cmd)
}

// poolNames reads what devices and hosts are called.
func poolNames(cmd *cobra.Command, c *client.Client) (device, host func(id string) string, err error) {
	devices, err := c.Devices(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	hosts, err := c.Hosts(cmd.Context())
	return deviceNames(devices), hostNames(hosts), err
}

func printAttempts(cmd *cobra.Command, attempts []v1.Attempt, device, host func(id string) string) error {
	var rows [][]string
	for _, a := range attempts {
		reason := because(a.Reason)
		if late := a.LateReport; late != nil {
			reason += "; a late report said " + late.Outcome
		}
		rows = append(rows, []string{
			strconv.Itoa(a.Number), cmp.Or(a.Ending, a.State), short(device(a.DeviceID), 24), short(host(a.HostID), 24), a.Runner, a.Fence,
			stamp(&a.AssignedAt), lasted(a.DispatchedAt, a.EndedAt), short(reason, 80),
		})
	}
	return printTable(cmd, "attempts", []string{"ATTEMPT", "ENDING", "DEVICE", "HOST", "RUNNER", "FENCE", "ASSIGNED", "RAN", "REASON"}, rows)
}
