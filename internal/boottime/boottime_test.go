package boottime_test

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

func TestNowNeverGoesBack(t *testing.T) {
	t.Parallel()
	last := boottime.Now()
	if last <= 0 {
		t.Fatalf("Now() = %v, want a positive reading", last)
	}
	for range 10_000 {
		now := boottime.Now()
		if now < last {
			t.Fatalf("Now() went from %v back to %v", last, now)
		}
		last = now
	}
}

func TestNowCountsAsTheWallClockDoes(t *testing.T) {
	t.Parallel()
	wall, steady := time.Now(), boottime.Now()
	<-time.After(20 * time.Millisecond)
	spent, want := boottime.Now()-steady, time.Since(wall)
	if spent < 20*time.Millisecond || spent > want+time.Second {
		t.Errorf("20 ms on the wall clock were %v on the steady clock, want about %v", spent, want)
	}
}

func TestBootIDIsTheSameForTheWholeBoot(t *testing.T) {
	t.Parallel()
	first, second := boottime.BootID(), boottime.BootID()
	if first == "" || first != second {
		t.Errorf("BootID() = %q then %q, want the same name twice", first, second)
	}
}
