package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/artifact"
	"github.com/phonebooth-dev/phonebooth/internal/agent/tail"
	"github.com/phonebooth-dev/phonebooth/runner"
)

const (
	// limitLook is how often a program is looked at, and sizeLook how often its artifacts are measured.
	limitLook = 250 * time.Millisecond
	sizeLook  = time.Second
	// maxEvents is how large a program's file of events may grow.
	maxEvents = 64 << 20
)

// limits are what a program is held to while it runs, and how its events are taken in.
type limits struct {
	runner.Limits
	dir     string // its working directory
	events  *tail.Events
	written func() int64 // how much it has written to its log
	now     func() time.Duration
	trouble func(error) // is told when events cannot be taken in; once

	exceeded string // the limit for which watch ended the program, for people; "" for none. To be read after watch
}

// watch looks at the program until ctx ends, or until the program goes beyond a limit: then it calls stop with what was done.
func (m *limits) watch(ctx context.Context, stop func(error)) {
	look := limitLook
	if m.Silence > 0 {
		look = min(look, max(m.Silence/4, time.Millisecond))
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	var seen int64
	heard, measured, told := m.now(), m.now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := m.events.Read(); err != nil && !told {
			told = true
			m.trouble(err)
		}
		now := m.now()
		if sum := m.written() + m.events.Bytes(); sum != seen {
			seen, heard = sum, now
		}
		did := runner.Nothing
		switch {
		case m.Silence > 0 && now-heard >= m.Silence:
			did, m.exceeded = runner.Silent, m.Silence.String()
		case m.events.Bytes() > maxEvents:
			did, m.exceeded = runner.Excess, artifact.Size(maxEvents)+" for events"
		case now-measured >= sizeLook:
			measured = now
			most := m.mostArtifacts()
			switch size, crowded := artifact.Measure(m.dir); {
			case crowded:
				did, m.exceeded = runner.Excess, fmt.Sprintf("%d files and directories for artifacts, in none that is too deep for a name", artifact.MaxEntries)
			case size > most:
				did, m.exceeded = runner.Excess, fmt.Sprintf("%s for artifacts", artifact.Size(most))
			}
		}
		if did != runner.Nothing {
			stop(did)
			return
		}
	}
}

func (m *limits) mostArtifacts() int64 {
	if m.ArtifactsBytes > 0 {
		return m.ArtifactsBytes
	}
	return artifact.MaxBytes
}
