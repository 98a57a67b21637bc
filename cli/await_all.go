package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// newestEvent is the position of the newest event, 0 before the first.
func newestEvent(ctx context.Context, c *client.Client) (int64, error) {
	list, err := c.Events(ctx, client.EventQuery{Newest: true, Limit: 1})
	if err != nil || len(list.Events) == 0 {
		return 0, err
	}
	return list.Events[0].Pos, nil
}

// awaitAll waits until all tasks of a batch have ended, printing each as it ends, and ends as the worst of them did. before is
// a position from before the tasks were as they are given.
func (p *program) awaitAll(cmd *cobra.Command, s *submission, tasks []v1.Task, before int64) error {
	c, err := p.connect(cmd, longPatience)
	if err != nil {
		return err
	}
	held, release := p.interruptions(cmd, s.cancelOnInterrupt)
	defer release()
	g := &gathering{
		cmd: cmd, client: c, tasks: tasks, index: map[string]int{}, left: len(tasks), silent: *s.out == formatJSON,
		progress: newProgress(cmd, s.progress), interruption: held,
	}
	err = g.run(before)
	g.close()
	switch {
	case errors.Is(err, errLeft), cmd.Context().Err() != nil:
		return &failure{
			status: exitInterrupted, err: fmt.Errorf("waiting no longer; %d of %s go on", g.left, counted(len(tasks), "task")),
			next: []string{"wait for them again: the same command with --idempotency-key " + s.key},
		}
	case err != nil:
		return &failure{status: exitCode(err), err: err, next: append(next(err),
			"the tasks go on; wait for them again: the same command with --idempotency-key "+s.key)}
	}
	if *s.out == formatJSON {
		if err := printJSON(cmd.OutOrStdout(), v1.TaskBatch{Tasks: g.tasks}); err != nil {
			return err
		}
	}
	return worst(g.tasks)
}

// gathering is the wait for the tasks of a batch: one loop in which everything comes together.
type gathering struct {
	cmd          *cobra.Command
	client       *client.Client
	tasks        []v1.Task // as they were seen last
	index        map[string]int
	left         int  // that have not ended
	silent       bool // nothing is printed when a task ends
	progress     *progress
	interruption *interruption
	asking       bool // a question stands at the terminal
}

// run returns when all tasks have ended.
func (g *gathering) run(before int64) error {
	ctx, stop := context.WithCancel(g.cmd.Context())
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	for i, t := range g.tasks {
		g.index[t.ID] = i
		if err := g.seen(t); err != nil { // those of a repeated submission may have ended long ago
			return err
		}
	}
	news, ended := make(chan v1.Event), make(chan error, 1)
	helpers.Go(func() { ended <- g.watch(ctx, before, news) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for g.left > 0 {
		if !g.asking {
			g.progress.show(fmt.Sprint(g.left*10/len(g.tasks)), g.standing())
		}
		select {
		case e := <-news:
			if err := g.happened(ctx, e); err != nil {
				return err
			}
		case <-tick.C:
		case <-g.interruption.signals:
			g.interrupted(ctx, &helpers)
		case answer := <-g.interruption.answers:
			g.asking = false
			g.interruption.seen.Store(answer == "y" || answer == "yes") // else the next one asks again
			switch answer {
			case "y", "yes":
				g.cancel(ctx, &helpers)
			case "n", "no":
				return errLeft
			}
		case err := <-ended:
			return err
		}
	}
	return nil
}

// watch hands over what happens to the tasks.
func (g *gathering) watch(ctx context.Context, after int64, news chan<- v1.Event) error {
	pass := func(e v1.Event) {
		select {
		case news <- e:
		case <-ctx.Done():
		}
	}
	pruned := func(int64) { // what happened meanwhile is seen in the tasks themselves
		for id := range g.index {
			pass(v1.Event{TaskID: id})
		}
	}
	for e, err := range g.client.Follow(ctx, client.EventQuery{After: after, Kinds: []string{"task.*"}, Pruned: pruned}) {
		if err != nil {
			return err
		}
		if _, ours := g.index[e.TaskID]; ours {
			pass(e)
		}
	}
	return ctx.Err()
}

// happened takes in an event of one of the tasks; one without a kind says that the task is to be looked at.
func (g *gathering) happened(ctx context.Context, e v1.Event) error {
	t := g.tasks[g.index[e.TaskID]]
	if phonebooth.Status(t.Status).Terminal() {
		return nil
	}
	t.Status = string(e.Detail.Status)
	if e.Kind == "" || phonebooth.Status(t.Status).Terminal() {
		var err error
		if t, err = g.client.Task(ctx, e.TaskID); err != nil {
			return err
		}
	}
	return g.seen(t)
}

// seen takes in a task as it is now, and prints it if it has ended.
func (g *gathering) seen(t v1.Task) error {
	g.tasks[g.index[t.ID]] = t
	if !phonebooth.Status(t.Status).Terminal() {
		return nil
	}
	g.left--
	if g.silent {
		return nil
	}
	g.progress.clear()
	_, err := fmt.Fprintln(g.cmd.OutOrStdout(), t.ID, t.Status)
	return err
}

// standing is where the batch stands, in words.
func (g *gathering) standing() string {
	n := map[phonebooth.Status]int{}
	for _, t := range g.tasks {
		n[phonebooth.Status(t.Status)]++
	}
	text := fmt.Sprintf("%d of %s ended", len(g.tasks)-g.left, counted(len(g.tasks), "task"))
	if n[phonebooth.Failed] > 0 {
		text += fmt.Sprintf(" (%d failed)", n[phonebooth.Failed])
	}
	return fmt.Sprintf("%s, %d running, %d waiting", text, n[phonebooth.Assigned]+n[phonebooth.Dispatched], n[phonebooth.Queued])
}

// interrupted cancels what has not ended, or asks.
func (g *gathering) interrupted(ctx context.Context, helpers *sync.WaitGroup) {
	g.progress.clear()
	if g.interruption.cancels {
		g.cancel(ctx, helpers)
		return
	}
	g.asking = true
	_, _ = fmt.Fprintf(g.cmd.ErrOrStderr(), "\ncancel the %s that have not ended? y cancels them, n leaves them running, Enter goes on waiting; "+
		"Ctrl-C again leaves them running: ", counted(g.left, "task"))
	go g.interruption.listen() // ends with a line, or with the process
}

// cancel asks for the end of all tasks that have not ended, beside the waiting for it.
func (g *gathering) cancel(ctx context.Context, helpers *sync.WaitGroup) {
	var ids []string
	for _, t := range g.tasks {
		if !phonebooth.Status(t.Status).Terminal() {
			ids = append(ids, t.ID)
		}
	}
	say(g.cmd, "cancelling %s; waiting for their end, Ctrl-C again leaves", counted(len(ids), "task"))
	helpers.Go(func() {
		for _, id := range ids {
			_, err := g.client.Cancel(ctx, id)
			if err != nil && phonebooth.CodeOf(err) != "task_ended" && ctx.Err() == nil {
				say(g.cmd, "%s could not be cancelled: %s", id, inWords(err))
			}
		}
	})
}

// close ends what stands at the terminal.
func (g *gathering) close() {
	g.progress.clear()
	if g.asking {
		_, _ = io.WriteString(g.cmd.ErrOrStderr(), "\n")
	}
}

// maxReasons is how many tasks are told of that were not done.
const maxReasons = 10

// worst is nil when all tasks are done, else the failure that says which are not: failed before cancelled.
func worst(tasks []v1.Task) error {
	f := &failure{status: exitCancelled}
	failed, cancelled := 0, 0
	for _, t := range tasks {
		switch phonebooth.Status(t.Status) {
		case phonebooth.Failed:
			failed++
			f.status = exitFailed
			if failed <= maxReasons {
				f.next = append(f.next, t.ID+" failed: "+because(t.Failure))
			}
		case phonebooth.Cancelled:
			cancelled++
		}
	}
	if failed+cancelled == 0 {
		return nil
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{failed, "failed"}, {cancelled, "cancelled"}, {len(tasks) - failed - cancelled, "done"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.what))
		}
	}
	f.err = fmt.Errorf("of %s: %s", counted(len(tasks), "task"), strings.Join(parts, ", "))
	if failed > maxReasons {
		f.next = append(f.next, fmt.Sprintf("and %d more", failed-maxReasons))
	}
	if failed > 0 {
		f.next = append(f.next, "see what a runner wrote: phonebooth task log TASK")
	}
	return f
}
