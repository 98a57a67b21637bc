package agent

import (
	"testing"
	"time"
)

func TestC09_ALeaseThatACallInTimeCannotKeepIsRenewedOutOfTurn(t *testing.T) {
	t.Parallel()
	// A failed claim is repeated after 10 s at most, an outage of 10 s may lie before it, and renewals come every 11 s at most,
	// twice repeated: 4 s for the call, 1 s of pause.
	for fence, want := range map[time.Duration]bool{26 * time.Second: false, 21 * time.Second: false, 16 * time.Second: true, 6 * time.Second: true} {
		if got := untold.endsSoon(fence); got != want {
			t.Errorf("with %v left: %v, want %v", fence, got, want)
		}
	}
}
