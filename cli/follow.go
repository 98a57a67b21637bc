package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// logPrinter prints the logs of a task as they are told: their bytes to out, and what else there is to say of them, such as
// which attempt's they are, to standard error.
type logPrinter struct {
	cmd    *cobra.Command
	client *client.Client
	task   string
	out    io.Writer

	attempt int  // whose log is printed; 0: none yet
	midline bool // out has begun a line
}

// printer prints to standard output: every byte, but at a terminal only what it can show.
func printer(cmd *cobra.Command, c *client.Client, task string) *logPrinter {
	l := &logPrinter{cmd: cmd, client: c, task: task, out: cmd.OutOrStdout()}
	if atTerminal(l.out) {
		l.out = &tame{w: l.out}
	}
	return l
}

// close ends what was printed.
func (l *logPrinter) close() {
	if t, ok := l.out.(*tame); ok {
		t.close()
	}
}

// follow prints until there is no more, and returns the task's status then; "" when ctx has ended.
func (l *logPrinter) follow(ctx context.Context, q client.LogQuery) (status string, err error) {
	for e, err := range l.client.FollowLog(ctx, l.task, q) {
		if err == nil {
			err = l.print(ctx, e)
		}
		if err != nil {
			return "", err
		}
		status = e.Status
	}
	return status, nil
}

func (l *logPrinter) print(ctx context.Context, e client.LogEvent) error {
	switch e.Kind {
	case v1.LogAttempt:
		if l.attempt != 0 {
			l.begins(ctx, e.Attempt)
		}
		l.attempt = e.Attempt
	case v1.LogData:
		return l.write(e.Data)
	case v1.LogGap:
		return l.write([]byte(client.LeftOut(e.Bytes)))
	case v1.LogClosed:
		if !e.Complete {
			l.say("the log of attempt %d may not be whole: %s", e.Attempt, e.Reason)
		}
	}
	return nil
}

// begins tells of a later attempt than the one that was printed before.
func (l *logPrinter) begins(ctx context.Context, attempt int) {
	if t, err := l.client.Task(ctx, l.task); err == nil {
		l.say("attempt %d of %d", attempt, t.MaxAttempts)
		return
	}
	l.say("attempt %d", attempt)
}

func (l *logPrinter) write(p []byte) error {
	if len(p) > 0 {
		l.midline = p[len(p)-1] != '\n'
	}
	_, err := l.out.Write(p)
	return err
}

// say tells something beside the log, on a line of its own where both are shown in one place.
func (l *logPrinter) say(format string, args ...any) {
	if l.midline && atTerminal(l.cmd.OutOrStdout()) && atTerminal(l.cmd.ErrOrStderr()) {
		_, _ = io.WriteString(l.cmd.ErrOrStderr(), "\n")
		l.midline = false
	}
	say(l.cmd, format, args...)
}
