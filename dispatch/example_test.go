package dispatch_test

import (
	"context"
	"fmt"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/dispatch"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// A program that embeds a host runs a workflow on a device of its own.
func Example() {
	execute := func(_ context.Context, w runner.Work) runner.Ended {
		fmt.Printf("%s: %s\n", w.Serial, w.Goal) // drive the device here
		return runner.Ended{Report: phonebooth.Report{Outcome: phonebooth.OutcomeDone}}
	}
	d, err := dispatch.New("host_mine", execute, workflow.Run)
	if err != nil {
		fmt.Println(err)
		return
	}
	flow, err := workflow.Parse("{version: steps/v1, name: dark-mode, steps: [open Settings, turn on dark mode]}")
	if err != nil {
		fmt.Println(err)
		return
	}
	work := runner.Work{DeviceID: "device_mine", Serial: "emulator-5554"}
	report, err := d.Dispatch(context.Background(), dispatch.Assignment{HostID: "host_mine", Work: work, Workflow: &flow})
	fmt.Println(report.Outcome, err)

	_, err = d.Dispatch(context.Background(), dispatch.Assignment{HostID: "host_other", Work: work, Workflow: &flow})
	fmt.Println(phonebooth.CodeOf(err))
	// Output:
	// emulator-5554: open Settings
	// emulator-5554: turn on dark mode
	// done <nil>
	// not_local
}
