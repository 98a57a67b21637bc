package playground

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Size is how many columns and rows a terminal has; ok is false when that is not known.
type Size func() (columns, rows int, ok bool)

// screen shows the demo: a table that is drawn over itself on a terminal that has room for it, and lines for what changed
// anywhere else.
type screen struct {
	out     io.Writer
	columns int               // of the terminal; 0: lines
	drawn   int               // rows of the table on the terminal
	said    map[string]string // what was said last of each task, elsewhere
}

// newScreen looks at the size once: a table that began fits until somebody makes the window smaller.
func newScreen(out io.Writer, size Size) *screen {
	s := &screen{out: out, said: map[string]string{}}
	if columns, rows, ok := size(); ok && rows > len(story())+tableExtra && columns > 40 {
		s.columns = columns
	}
	return s
}

// tableExtra is how many rows the table has besides the tasks.
const tableExtra = 2

// Colours of a terminal.
const (
	plain  = "\x1b[0m"
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	faint  = "\x1b[2m"
)

func colour(status string) string {
	switch status {
	case "done":
		return green
	case "failed":
		return red
	case "cancelled":
		return yellow
	case "queued":
		return faint
	}
	return cyan
}

// draw shows the tasks as they are.
func (s *screen) draw(roles []role, since time.Duration) {
	if s.columns == 0 {
		s.lines(roles, since)
		return
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	s.row(&b, "%s%d devices, %d tasks, %4.1f s%s", faint, demoDevices, len(roles), since.Seconds(), plain)
	s.row(&b, "")
	for _, r := range roles {
		s.row(&b, "  %-24s %s%-11s%s %s", r.title, colour(r.task.Status), r.task.Status, plain, remark(r))
	}
	s.drawn = len(roles) + tableExtra
	io.WriteString(s.out, b.String())
}

// row writes one row over what stood there, cut to the terminal's width: a row that wraps would move all others.
func (s *screen) row(b *strings.Builder, format string, args ...any) {
	b.WriteString("\x1b[K" + ansi.Truncate(fmt.Sprintf(format, args...), s.columns-1, "…") + "\n")
}

// lines says what changed since the last time.
func (s *screen) lines(roles []role, since time.Duration) {
	for _, r := range roles {
		now := fmt.Sprintf("%-24s %-11s %s", r.title, r.task.Status, remark(r))
		if s.said[r.task.ID] != now {
			s.said[r.task.ID] = now
			fmt.Fprintf(s.out, "%5.1f s  %s\n", since.Seconds(), now)
		}
	}
}

// remark is what there is to say of a task besides its status.
func remark(r role) string {
	switch {
	case r.task.Status == "queued" && r.task.Attempt > 0:
		return "its runner was killed: tried again"
	case r.task.Status == "queued":
		return "waits for a device"
	case r.task.Failure != nil && r.task.Status == "failed":
		return r.task.Failure.Message
	case r.task.CancelRequested:
		return "asked to stop"
	case r.cancel && r.told && r.task.Status == "cancelled":
		return "stopped while it ran"
	case r.task.Attempt > 1:
		return fmt.Sprintf("attempt %d", r.task.Attempt)
	}
	return ""
}

// close says how it ended; the error names what went astray.
func (s *screen) close(roles []role, since time.Duration) error {
	endings := map[string]int{}
	var astray []string
	for _, r := range roles {
		endings[r.task.Status]++
		if what := r.astray(); what != "" {
			astray = append(astray, fmt.Sprintf("%q %s", r.title, what))
		}
	}
	fmt.Fprintf(s.out, "\n%d tasks on %d devices in %.1f s: %d done, %d failed, %d cancelled.\n",
		len(roles), demoDevices, since.Seconds(), endings["done"], endings["failed"], endings["cancelled"])
	if len(astray) > 0 {
		return fmt.Errorf("%w: %s", ErrStory, strings.Join(astray, "; "))
	}
	fmt.Fprintln(s.out, "One failed as it should, one was cancelled in the middle, and one survived the kill of its runner.\n"+
		"Next: phonebooth dev --sim 2, and phonebooth submit --goal 'print hello' --wait in another terminal.")
	return nil
}
