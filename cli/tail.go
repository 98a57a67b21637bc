package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// tail copies the logs of a task's attempts to out as they grow. Offsets count what the runner wrote.
type tail struct {
	client  *client.Client
	task    string
	attempt int    // 0: the newest
	name    string // v1.LogRunner or another
	out     io.Writer

	offset int64
	err    error // the first one of seen
}

// headBytes is how much of a log's beginning is kept whatever its length. Where bytes were left out a marker stands: there,
// or at the beginning of an answer that was asked for from behind there.
const headBytes = 8 << 20

var leftOut = regexp.MustCompile(`^\n\[phonebooth: (\d{1,18}) bytes left out\]\n`)

// copy copies what the attempt's log has behind what was copied before.
func (t *tail) copy(ctx context.Context) error {
	log, err := t.client.Log(ctx, t.task, t.attempt, t.name, t.offset)
	if err != nil {
		return err
	}
	defer log.Close()
	if head := headBytes - t.offset; head > 0 {
		n, err := io.CopyN(t.out, log, head)
		t.offset += n
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	rest := bufio.NewReader(log)
	start, _ := rest.Peek(64) // what is wrong with it shows again below
	if marker := leftOut.FindSubmatch(start); marker != nil {
		n, _ := strconv.ParseInt(string(marker[1]), 10, 64)
		t.offset += n - int64(len(marker[0]))
	}
	n, err := io.Copy(t.out, rest)
	t.offset += n
	return err
}

// copySection copies n bytes of the runner's from offset on. Of those that were left out a line tells how many.
func (t *tail) copySection(ctx context.Context, offset, n int64) error {
	log, err := t.client.Log(ctx, t.task, t.attempt, t.name, offset)
	if err != nil {
		return err
	}
	defer log.Close()
	rest, end := bufio.NewReader(log), offset+n
	if head := min(headBytes, end) - offset; head > 0 {
		n, err := io.CopyN(t.out, rest, head)
		if offset += n; errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if offset < end {
		start, _ := rest.Peek(64) // what is wrong with it shows again below
		if marker := leftOut.FindSubmatch(start); marker != nil {
			left, _ := strconv.ParseInt(string(marker[1]), 10, 64)
			if _, err := fmt.Fprintf(t.out, "\n[phonebooth: %d bytes left out]\n", min(left, end-offset)); err != nil {
				return err
			}
			offset += left
			_, _ = rest.Discard(len(marker[0])) // it was read
		}
	}
	if offset < end {
		_, err = io.CopyN(t.out, rest, end-offset)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// seen is told of every state of the task, and copies what is new. Before a later attempt's log comes the rest of the
// earlier one's.
func (t *tail) seen(cmd *cobra.Command, task v1.Task) {
	if task.Attempt == 0 || t.err != nil {
		return
	}
	if t.attempt == 0 {
		t.attempt = task.Attempt
	}
	t.err = t.copy(cmd.Context())
	for t.err == nil && t.attempt < task.Attempt {
		t.attempt, t.offset = t.attempt+1, 0
		say(cmd, "attempt %d of %d", t.attempt, task.MaxAttempts)
		t.err = t.copy(cmd.Context())
	}
}

// finish copies what arrives behind the end of the task: a report may overtake the last lines of its log.
func (t *tail) finish(ctx context.Context) error {
	for quiet := 0; quiet < 2 && t.err == nil && t.attempt > 0; quiet++ {
		before := t.offset
		if t.err = t.copy(ctx); t.offset > before {
			quiet = 0
		}
		select {
		case <-time.After(150 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
	return t.err
}
