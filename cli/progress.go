package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
)

// progressMode is the value of --progress.
type progressMode string

const (
	progressAuto  progressMode = "auto"  // live at a terminal, else none
	progressPlain progressMode = "plain" // a line for each change
	progressNone  progressMode = "none"
	progressLive  progressMode = "live" // one line that is drawn again; what auto is at a terminal
)

func (m *progressMode) String() string { return string(*m) }

// Set is called with what stands on the command line.
func (m *progressMode) Set(text string) error {
	switch mode := progressMode(text); mode {
	case progressAuto, progressPlain, progressNone:
		*m = mode
		return nil
	}
	return errors.New("it is auto, plain or none")
}

// Type is the word for the value in help texts.
func (m *progressMode) Type() string { return "auto|plain|none" }

// at is what the mode means where standard error is.
func (m progressMode) at(cmd *cobra.Command) progressMode {
	switch {
	case m != progressAuto:
		return m
	case atTerminal(cmd.ErrOrStderr()):
		return progressLive
	}
	return progressNone
}

// progress shows where something stands.
type progress struct {
	w     io.Writer
	mode  progressMode // not auto
	width func() int   // of the terminal
	now   func() time.Time

	state, text string    // that was told last
	since       time.Time // when it came to state
	told        time.Time
	drawn       bool
}

func newProgress(cmd *cobra.Command, mode progressMode) *progress {
	w := cmd.ErrOrStderr()
	return &progress{w: w, mode: mode.at(cmd), now: time.Now, width: func() int {
		f, ok := w.(interface{ Fd() uintptr })
		if !ok {
			return 80
		}
		columns, _, err := term.GetSize(f.Fd())
		if err != nil || columns < 20 {
			return 80
		}
		return columns
	}}
}

// details is how often lines tell of what changes within one state.
const details = 10 * time.Second

// show tells where it stands: state is what a change of is told at once, text what people read.
func (p *progress) show(state, text string) {
	now := p.now()
	same := state == p.state
	if !same {
		p.state, p.since = state, now
	}
	switch p.mode {
	case progressLive:
		line := clean(text)
		if age := now.Sub(p.since); age >= time.Second {
			line = ansi.Truncate(line, p.width()-8, "…") + " (" + span(age.Truncate(time.Second)) + ")"
		}
		_, _ = fmt.Fprint(p.w, "\r\x1b[K", ansi.Truncate(line, p.width()-1, "…"))
		p.drawn = true
	case progressPlain:
		if text != p.text && (!same || now.Sub(p.told) >= details) {
			_, _ = fmt.Fprintln(p.w, clean(text))
			p.text, p.told = text, now
		}
	}
}

// clear makes room for something else; the next show draws anew.
func (p *progress) clear() {
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
