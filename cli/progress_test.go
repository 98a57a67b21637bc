package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressIsALineForEachChangeOrOneThatIsDrawnAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	drive := func(mode progressMode) string {
		var out bytes.Buffer
		p := &progress{w: &out, mode: mode, width: func() int { return 40 }, now: func() time.Time { return now }}
		for _, step := range []struct {
			after       time.Duration
			state, text string
		}{
			{0, "queued", "waits: 3 ahead"},
			{time.Second, "queued", "waits: 2 ahead"}, // a detail, soon after
			{time.Second, "queued", "waits: 2 ahead"},
			{10 * time.Second, "queued", "waits: 1 ahead"},
			{time.Second, "running", "runs on \x1b[2Ja phone with a very long name indeed"},
			{time.Second, "running", "runs on \x1b[2Ja phone with a very long name indeed"},
		} {
			now = now.Add(step.after)
			p.show(step.state, step.text)
		}
		p.clear()
		return out.String()
	}
	if got, want := drive(progressPlain), "waits: 3 ahead\nwaits: 1 ahead\nruns on \ufffd[2Ja phone with a very long name indeed\n"; got != want {
		t.Errorf("plain: %q, want %q", got, want)
	}
	if got := drive(progressNone); got != "" {
		t.Errorf("none: %q", got)
	}
	live := strings.Split(drive(progressLive), "\r\x1b[K")
	if len(live) != 8 || live[1] != "waits: 3 ahead" || live[2] != "waits: 2 ahead (1.0s)" || live[4] != "waits: 1 ahead (12s)" || live[7] != "" {
		t.Errorf("live: %q", live)
	}
	for _, line := range live {
		if len([]rune(line)) > 39 || strings.ContainsAny(line, "\n\x1b") {
			t.Errorf("live: %q does not fit, or steers", line)
		}
	}
}
