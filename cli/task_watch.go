package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// taskWatch shows a page of tasks until Ctrl-C: at a terminal a table that is drawn again, elsewhere a line for each task and
// then for each change of one.
type taskWatch struct {
	cmd    *cobra.Command
	client *client.Client
	query  client.TaskQuery
	out    format
	stream *reach

	shown  map[string]string // by task, its last line
	device func(id string) string
	page   v1.TaskList
	stale  bool          // the newest page could not be fetched
	named  time.Time     // when device was made
	looked time.Time     // when the page was fetched last
	took   time.Duration // to fetch it
}

// reach carries the requests of a stream, and knows whether the server is away.
type reach struct {
	http.RoundTripper
	away atomic.Bool
}

// RoundTrip makes one call.
func (r *reach) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	r.away.Store(err != nil || response.StatusCode >= http.StatusInternalServerError)
	return response, err
}

// Bounds on how often the server is asked, and the screen drawn.
const (
	watchGather = 200 * time.Millisecond // after a change, for others that come with it
	watchDraw   = time.Second            // ages grow
	watchCalls  = 4                      // for one page, when few of the newest tasks are chosen
	watchRest   = 10                     // times what a page took, before the next
	watchNames  = 30 * time.Second       // devices' names are kept
)

func (p *program) watchTasks(cmd *cobra.Command, q client.TaskQuery, out format) error {
	live := out == formatTable && atTerminal(cmd.OutOrStdout())
	stream := &reach{RoundTripper: newOutages(cmd)} // which says so
	if live {
		stream.RoundTripper = http.DefaultTransport // the screen does
	}
	c, err := p.connectWith(cmd, client.Options{Patience: endless, Transport: stream})
	if err != nil {
		return err
	}
	asking, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	before, err := newestEvent(ctx, asking)
	if err != nil {
		return err
	}
	w := &taskWatch{cmd: cmd, client: asking, query: q, out: out, stream: stream, shown: map[string]string{}}
	if err := w.look(ctx); err != nil {
		return err
	}
	changes, failed := make(chan struct{}, 1), make(chan error, 1)
	go func() { failed <- notice(ctx, c, before, q.Labels, changes) }()
	if live {
		return w.draw(ctx, changes, failed)
	}
	return w.print(ctx, changes, failed)
}

// notice tells that something of a task was committed.
func notice(ctx context.Context, c *client.Client, after int64, labels []string, changes chan<- struct{}) error {
	changed := func() {
		select {
		case changes <- struct{}{}:
		default: // it is known already
		}
	}
	q := client.EventQuery{After: after, Kinds: []string{"task.*"}, Labels: labels, Pruned: func(int64) { changed() }}
	for _, err := range c.Follow(ctx, q) {
		if err != nil {
			return err
		}
		changed()
	}
	return nil
}

// away reports whether err says that there is no answer now, but may be one later.
func away(err error) bool {
	refusal, ok := errors.AsType[*phonebooth.Error](err)
	return ok && refusal.Kind == phonebooth.Unavailable
}

// pause waits; it returns false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// look fetches the page. Where few tasks are chosen it goes back only so far, and the page says that there are more.
func (w *taskWatch) look(ctx context.Context) error {
	began := time.Now()
	w.took = 0 // one that fails is tried again soon
	page, err := fullPage(ctx, w.client, w.query, watchCalls)
	if err != nil {
		return err
	}
	if time.Since(w.named) > watchNames {
		devices, err := w.client.Devices(ctx)
		if err != nil {
			return err
		}
		w.device, w.named = deviceNames(devices), time.Now()
	}
	w.page, w.stale = page, false
	w.looked, w.took = time.Now(), time.Since(began)
	return nil
}

// rest is how long it is until the next look is due: one that is slow is rare.
func (w *taskWatch) rest() time.Duration { return time.Until(w.looked.Add(watchRest * w.took)) }

// print writes lines until ctx ends.
func (w *taskWatch) print(ctx context.Context, changes <-chan struct{}, failed <-chan error) error {
	for {
		if err := w.lines(ctx); err != nil || ctx.Err() != nil {
			return w.end(ctx, err)
		}
		select {
		case <-changes:
		case err := <-failed:
			return w.end(ctx, err)
		case <-ctx.Done():
			return nil
		}
		if !pause(ctx, max(watchGather, w.rest())) {
			return nil
		}
		for err := w.look(ctx); err != nil && ctx.Err() == nil; err = w.look(ctx) { // the stream says that the server is away
			if !away(err) || !pause(ctx, watchDraw) {
				return w.end(ctx, err)
			}
		}
	}
}

// end is nil after Ctrl-C, which is how one stops to look.
func (w *taskWatch) end(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lines prints what has changed since it was printed last, the oldest first, also of tasks that are not chosen any more.
func (w *taskWatch) lines(ctx context.Context) error {
	there := map[string]bool{}
	for i := len(w.page.Tasks) - 1; i >= 0; i-- {
		t := w.page.Tasks[i]
		there[t.ID] = true
		if err := w.line(t, false); err != nil {
			return err
		}
	}
	for id := range w.shown {
		if there[id] {
			continue
		}
		t, err := w.client.Task(ctx, id)
		if err == nil {
			err = w.line(t, true)
		}
		if err != nil && !away(err) && ctx.Err() == nil && phonebooth.CodeOf(err) != "task_unknown" {
			return err
		}
		delete(w.shown, id)
	}
	return nil
}

// line prints a task unless its line is known. left says that the filters do not choose it any more.
func (w *taskWatch) line(t v1.Task, left bool) error {
	state := strings.Join(w.row(t), "  ")
	if w.shown[t.ID] == state {
		return nil
	}
	if !left {
		w.shown[t.ID] = state
	}
	if w.out == formatJSON {
		encoder := json.NewEncoder(w.cmd.OutOrStdout())
		encoder.SetEscapeHTML(false)
		return encoder.Encode(t)
	}
	_, err := fmt.Fprintln(w.cmd.OutOrStdout(), time.Now().Format("15:04:05"), clean(state))
	return err
}

// row is a task in columns, without its age.
func (w *taskWatch) row(t v1.Task) []string {
	return []string{t.ID, standing(t), fmt.Sprintf("%d/%d", t.Attempt, t.MaxAttempts), short(w.device(t.DeviceID), 24), short(asked(t), 56)}
}

// draw draws the table until ctx ends, on a screen of its own, and leaves it as it was last.
func (w *taskWatch) draw(ctx context.Context, changes <-chan struct{}, failed <-chan error) error {
	out := w.cmd.OutOrStdout()
	held := make(chan os.Signal, 1) // also a second one finds the terminal as it was
	signal.Notify(held, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(held)
	_, _ = io.WriteString(out, "\x1b[?1049h\x1b[?25l")
	err := w.drawing(ctx, changes, failed)
	_, _ = io.WriteString(out, "\x1b[?25h\x1b[?1049l")
	if err != nil {
		return w.end(ctx, err)
	}
	return taskTable(w.cmd, w.device, w.page)
}

func (w *taskWatch) drawing(ctx context.Context, changes <-chan struct{}, failed <-chan error) error {
	tick := time.NewTicker(watchDraw)
	defer tick.Stop()
	changed := false
	for {
		if err := w.frame(); err != nil {
			return err
		}
		select {
		case <-changes:
			changed = true
			pause(ctx, watchGather)
		case <-tick.C:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
		if (changed || w.stale) && w.rest() <= 0 && ctx.Err() == nil {
			changed = false
			if err := w.look(ctx); away(err) {
				w.stale = true
			} else if err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// frame draws the table once, as much of it as there is room for.
func (w *taskWatch) frame() error {
	columns, rows, err := 80, 24, error(nil)
	if f, ok := w.cmd.OutOrStdout().(interface{ Fd() uintptr }); ok {
		if columns, rows, err = term.GetSize(f.Fd()); err != nil || rows < 4 {
			columns, rows = 80, 24
		}
	}
	var table bytes.Buffer
	page := &cobra.Command{}
	page.SetOut(&table)
	page.SetErr(&table)
	if err := taskTable(page, w.device, w.page); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(table.String(), "\n"), "\n")
	last := time.Now().Format("15:04:05") + "  Ctrl-C ends"
	if w.stale || w.stream.away.Load() {
		last = "the server does not answer; this is from before; Ctrl-C ends"
	}
	if most := rows - 2; len(lines) > most {
		last += fmt.Sprintf("  (%d more)", len(lines)-most)
		lines = lines[:most]
	}
	var frame strings.Builder
	frame.WriteString("\x1b[H")
	for _, line := range append(lines, "", last) {
		frame.WriteString(ansi.Truncate(line, columns, "…") + "\x1b[K\r\n")
	}
	_, err = io.WriteString(w.cmd.OutOrStdout(), strings.TrimSuffix(frame.String(), "\r\n")+"\x1b[J")
	return err
}
