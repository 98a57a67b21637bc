package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// await waits until a task that was just submitted has ended, telling a terminal for what, and ends as the task did.
func (p *program) await(cmd *cobra.Command, s *submission, t v1.Task) error {
	c, err := p.connect(cmd, longPatience)
	if err != nil {
		return err
	}
	log := &tail{client: c, task: t.ID, name: v1.LogRunner, out: cmd.OutOrStdout()}
	w := &waiting{cmd: cmd, client: c, id: t.ID}
	t, err = c.Wait(cmd.Context(), t.ID, func(now v1.Task) {
		t = now
		w.tell(now)
		if s.follow {
			log.seen(cmd, now)
		}
	})
	switch {
	case cmd.Context().Err() != nil:
		return &failure{status: exitInterrupted, err: fmt.Errorf("waiting no longer; %s goes on", w.id), next: []string{
			"wait for it again: phonebooth task log --follow " + w.id, "cancel it: phonebooth task cancel " + w.id,
		}}
	case err != nil:
		return &failure{status: exitCode(err), err: err, next: append(next(err), w.id+" goes on; see: phonebooth task get "+w.id)}
	}
	if s.follow {
		if err := log.finish(cmd.Context()); err != nil {
			return err
		}
	}
	if *s.out == formatJSON {
		if err := printJSON(cmd.OutOrStdout(), t); err != nil {
			return err
		}
	} else if !s.follow {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), t.ID, t.Status); err != nil {
			return err
		}
	}
	return endingOf(t)
}

// endingOf is nil for a task that is done, else the failure that says how it ended.
func endingOf(t v1.Task) error {
	switch phonebooth.Status(t.Status) {
	case phonebooth.Done:
		return nil
	case phonebooth.Cancelled:
		return &failure{status: exitCancelled, err: fmt.Errorf("%s was cancelled", t.ID)}
	}
	f := &failure{status: exitFailed, err: fmt.Errorf("%s failed: %s", t.ID, because(t.Failure))}
	if t.Attempt > 0 {
		f.next = []string{"see what its runner wrote: phonebooth task log " + t.ID}
	}
	return f
}

// waiting tells a person at a terminal what a task waits for, once for each change.
type waiting struct {
	cmd    *cobra.Command
	client *client.Client
	id     string
	last   string
}

func (w *waiting) tell(t v1.Task) {
	if !atTerminal(w.cmd.ErrOrStderr()) {
		return
	}
	state := fmt.Sprintf("%s %s %d", standing(t), t.DeviceID, t.Attempt)
	if state == w.last {
		return
	}
	w.last = state
	note(w.cmd, "%s: %s", t.ID, w.stage(t))
}

// stage is where a task stands, in words.
func (w *waiting) stage(t v1.Task) string {
	device := t.DeviceID
	if t.Status != string(phonebooth.Queued) {
		if devices, err := w.client.Devices(w.cmd.Context()); err == nil { // else its id will do
			device = deviceNames(devices)(t.DeviceID)
		}
	}
	attempt := fmt.Sprintf("attempt %d of %d", t.Attempt, t.MaxAttempts)
	pending := ""
	if t.CancelRequested {
		pending = ", to be cancelled"
	}
	switch phonebooth.Status(t.Status) {
	case phonebooth.Queued:
		return "waits for a device: " + wanted(t.Constraints)
	case phonebooth.Assigned:
		return "waits for the host of " + device + ", " + attempt + pending
	case phonebooth.Dispatched:
		return "runs on " + device + ", " + attempt + pending
	}
	return t.Status + ", " + attempt
}
