package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
)

// interruption is what becomes of a signal while a task is waited for. A second one always leaves.
type interruption struct {
	cancels bool      // without a question
	in      io.Reader // where the answer to the question is typed; nil: nobody can be asked

	seen    atomic.Bool
	signals chan struct{} // gets the first one
	answers chan string
}

// interruptions takes signals for a wait of cmd's, if there is something to do with them.
func (p *program) interruptions(cmd *cobra.Command, cancels bool) (i *interruption, release func()) {
	i = &interruption{cancels: cancels, signals: make(chan struct{}, 1), answers: make(chan string, 1)}
	if atTerminal(cmd.InOrStdin()) && atTerminal(cmd.ErrOrStderr()) {
		i.in = cmd.InOrStdin()
	}
	return i, p.signals.offer(i.take)
}

// take reports whether the signal is taken. CI systems say SIGTERM where people say Ctrl-C.
func (i *interruption) take(sig os.Signal) bool {
	if !i.cancels && (i.in == nil || sig != os.Interrupt) || i.seen.Swap(true) {
		return false
	}
	i.signals <- struct{}{}
	return true
}

// listen reads one line of an answer. Without one, as at the end of the input, nothing is answered.
func (i *interruption) listen() {
	line, err := bufio.NewReader(i.in).ReadString('\n')
	if err == nil {
		i.answers <- strings.ToLower(strings.TrimSpace(line))
	}
}

// interrupted says what now, or asks.
func (w *waiting) interrupted(ctx context.Context) {
	w.progress.clear()
	if w.interruption.cancels {
		w.cancel(ctx)
		return
	}
	w.asking = true
	_, _ = io.WriteString(w.cmd.ErrOrStderr(), "\ncancel "+w.id+"? y cancels it, n leaves it running, Enter goes on waiting; Ctrl-C again leaves it running: ")
	go w.interruption.listen() // ends with a line, or with the process
}

// answered does what was answered. leave says that nobody wants to wait any longer.
func (w *waiting) answered(ctx context.Context, answer string) (leave bool) {
	w.asking = false
	w.interruption.seen.Store(false) // the next one asks again
	switch answer {
	case "y", "yes":
		w.interruption.seen.Store(true)
		w.cancel(ctx)
	case "n", "no":
		return true
	}
	return false
}

// cancel asks for the end of the task, beside the waiting for it.
func (w *waiting) cancel(ctx context.Context) {
	say(w.cmd, "cancelling %s; waiting for its end, Ctrl-C again leaves", w.id)
	go func() {
		_, err := w.client.Cancel(ctx, w.id)
		w.cancelled <- err
	}()
}
