package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// await waits until a task that was just submitted has ended, telling where it stands, and ends as the task did.
func (p *program) await(cmd *cobra.Command, s *submission, t v1.Task) error {
	c, err := p.connect(cmd, longPatience)
	if err != nil {
		return err
	}
	held, release := p.interruptions(cmd, s.cancelOnInterrupt)
	defer release()
	w := &waiting{
		cmd: cmd, client: c, id: t.ID, progress: newProgress(cmd, s.progress), interruption: held, cancelled: make(chan error, 1),
	}
	if s.follow {
		w.log = printer(cmd, c, t.ID)
	}
	t, err = w.run(cmd.Context())
	w.close()
	if phonebooth.CodeOf(err) == "log_expired" { // of a task that ended long ago, or while its log was shown
		if now, lookErr := c.Task(cmd.Context(), w.id); lookErr == nil && phonebooth.Status(now.Status).Terminal() {
			say(cmd, "%s", inWords(err))
			t, err = now, nil
		}
	}
	switch {
	case errors.Is(err, errLeft), cmd.Context().Err() != nil:
		return &failure{status: exitInterrupted, err: fmt.Errorf("waiting no longer; %s goes on", w.id), next: []string{
			"wait for it again: phonebooth task log --follow " + w.id, "cancel it: phonebooth task cancel " + w.id,
		}}
	case err != nil:
		return &failure{status: exitCode(err), err: err, next: append(next(err), w.id+" goes on; see: phonebooth task get "+w.id)}
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

// errLeft says that a person does not want to wait any longer.
var errLeft = errors.New("left")

// waiting is the wait for one task: one loop in which everything comes together that is to be shown.
type waiting struct {
	cmd          *cobra.Command
	client       *client.Client
	id           string
	log          *logPrinter // nil: the log is not shown
	progress     *progress
	interruption *interruption
	cancelled    chan error // the answer to a cancellation

	asking    bool      // a question stands at the terminal
	explained time.Time // when the reason was asked for last
	reason    string    // why it waits
}

// run returns the task as it ended.
func (w *waiting) run(ctx context.Context) (t v1.Task, err error) {
	ctx, stop := context.WithCancel(ctx)
	states, news := make(chan v1.Task), make(chan client.LogEvent)
	ended := make(chan error, 1)
	go func() { ended <- w.watch(ctx, &t, states, news) }()
	for err == nil {
		select {
		case now := <-states:
			w.show(ctx, now)
		case e := <-news:
			if e.Kind != v1.LogEnd {
				w.progress.clear()
			}
			err = w.log.print(ctx, e)
		case <-w.interruption.signals:
			w.interrupted(ctx)
		case answer := <-w.interruption.answers:
			if w.answered(ctx, answer) {
				err = errLeft
			}
		case err := <-w.cancelled:
			if err != nil && phonebooth.CodeOf(err) != "task_ended" && ctx.Err() == nil {
				say(w.cmd, "%s could not be cancelled: %s", w.id, inWords(err))
			}
		case err = <-ended:
			stop()
			return t, err
		}
	}
	stop()
	<-ended
	return t, err
}

// close ends what stands at the terminal.
func (w *waiting) close() {
	w.progress.clear()
	if w.log != nil {
		w.log.close()
	}
	if w.asking {
		_, _ = io.WriteString(w.cmd.ErrOrStderr(), "\n")
	}
}

// watch hands over every state of the task, and its log if that is shown, until the task has ended and its log is complete.
func (w *waiting) watch(ctx context.Context, final *v1.Task, states chan<- v1.Task, news chan<- client.LogEvent) (err error) {
	seen := func(now v1.Task) {
		select {
		case states <- now:
		case <-ctx.Done():
		}
	}
	if w.log == nil {
		*final, err = w.client.Wait(ctx, w.id, seen)
		return err
	}
	looking, enough := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() { _, _ = w.client.Wait(looking, w.id, seen) }) // what is wrong with it shows below
	defer looks.Wait()
	defer enough()
	for e, err := range w.client.FollowLog(ctx, w.id, client.LogQuery{All: true}) {
		if err != nil {
			return err
		}
		select {
		case news <- e:
		case <-ctx.Done():
		}
	}
	*final, err = w.client.Task(ctx, w.id)
	return err
}

const (
	reasonAge = 2 * time.Second // of the reason that is shown, at most
	lookTime  = time.Second     // for what makes a state easier to read: signals wait meanwhile
)

// show tells where the task stands. While its log runs, that tells more.
func (w *waiting) show(ctx context.Context, t v1.Task) {
	status := phonebooth.Status(t.Status)
	if w.progress.mode == progressNone || w.asking || status.Terminal() {
		return
	}
	if w.log != nil && status == phonebooth.Dispatched && w.log.attempt > 0 && w.progress.mode == progressLive {
		return
	}
	ctx, enough := context.WithTimeout(ctx, lookTime)
	defer enough()
	state := fmt.Sprintf("%s %s %d", standing(t), t.DeviceID, t.Attempt)
	if status == phonebooth.Queued && (state != w.progress.state || time.Since(w.explained) > reasonAge) {
		w.reason, w.explained = "It waits for a device: "+wanted(t.Constraints)+".", time.Now()
		if e, err := w.client.Explain(ctx, w.id); err == nil && e.Status == t.Status && len(e.Sentences) > 0 {
			w.reason = e.Sentences[0]
		}
	}
	w.progress.show(state, t.ID+": "+w.stage(ctx, t))
}

// stage is where a task stands, in words.
func (w *waiting) stage(ctx context.Context, t v1.Task) string {
	if t.Status == string(phonebooth.Queued) {
		return w.reason
	}
	device := t.DeviceID
	if devices, err := w.client.Devices(ctx); err == nil { // else its id will do
		device = deviceNames(devices)(t.DeviceID)
	}
	attempt := fmt.Sprintf("attempt %d of %d", t.Attempt, t.MaxAttempts)
	pending := ""
	if t.CancelRequested {
		pending = ", to be cancelled"
	}
	if t.Status == string(phonebooth.Assigned) {
		return "waits for the host of " + device + ", " + attempt + pending
	}
	return "runs on " + device + ", " + attempt + pending
}
