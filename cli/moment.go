package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// moment is the time that a flag names: RFC 3339, a day where it begins here, or how long ago. "" is no time.
func moment(cmd *cobra.Command, flag, text string) (time.Time, error) {
	at, ok := momentOf(text, time.Now())
	if !ok || text == "" && cmd.Flags().Changed(flag) {
		return at, usage(cmd, "--%s is a time such as 2026-03-01T12:00:00Z, a day such as 2026-03-01, or how long ago: 90m, 36h, 7d", flag)
	}
	return at, nil
}

func momentOf(text string, now time.Time) (at time.Time, ok bool) {
	if text == "" {
		return at, true
	}
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		n, err := strconv.ParseUint(days, 10, 16)
		return now.Add(-time.Duration(n) * 24 * time.Hour), err == nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), ago >= 0
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	at, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	return at, err == nil
}
