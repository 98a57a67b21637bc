package cli

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 9*3600)
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "36h": now.Add(-36 * time.Hour), "7d": now.Add(-7 * 24 * time.Hour), "0d": now, "": {},
		"2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, zone), "2026-03-01T12:00:00Z": time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	} {
		if got, ok := momentOf(text, now); !ok || !got.Equal(want) {
			t.Errorf("%q: got %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"yesterday", "-5m", "d", "-1d", "1.5d", "99999d", "2026-13-01", "12:00"} {
		if got, ok := momentOf(text, now); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
