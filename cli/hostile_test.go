package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// hostile would colour and clear a terminal, set its title, break a line and a table, and turn text around.
const hostile = "a\x1b[31m\x1b[2J\x1b]0;title\x07\r\n\u202eb\u200f\u2067c\u061c\u2028\u009b5m<b>&\td"

func TestTextOfOthersStaysTextInTables(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	row := []string{hostile, short(hostile, 12), labels(map[string]string{hostile: hostile}), deviceState(v1.Device{
		Unavailable: "cordoned", Condition: hostile, HoldReason: hostile,
	})}
	if err := printTable(cmd, "things", []string{"A", "B", "C", "D"}, [][]string{row, {"x", "x", "x", "x"}}); err != nil {
		t.Fatal(err)
	}
	wantText(t, "a table", out.String(), 3)
	out.Reset()
	event := v1.Event{Pos: 1, Kind: hostile, Actor: hostile, TaskID: hostile, Detail: phonebooth.EventDetail{Message: hostile, Name: hostile}}
	if err := printEvent(&out, event, formatTable, &eventNames{}); err != nil {
		t.Fatal(err)
	}
	wantText(t, "an event", out.String(), 1)
}

// wantText looks for what would steer a terminal, and counts the lines.
func wantText(t *testing.T, what, text string, lines int) {
	t.Helper()
	if n := strings.Count(text, "\n"); n != lines {
		t.Errorf("%s: %d lines, want %d: %q", what, n, lines, text)
	}
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%s: %q is in %q", what, r, text)
		}
	}
}
