package lifecycle

import "testing"

// TestModelFindsPlantedFaults plants one fault at a time around the production code, and plays scripts until the promise that
// it endangers breaks: so the model would find it, were it in the code. Some need both lines of defence down.
func TestModelFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	const scriptsAtMost = 5000
	tests := []struct {
		name   string
		faults faults
		breaks promise
	}{
		{"a claim anchored at receipt", faults{claimAtReceipt: true}, promiseLease},
		{"a claim's time parked that ends after its lease was counted", faults{parkedLate: true}, promiseLease},
		{"a renewal anchored at receipt", faults{renewalAtReceipt: true}, promiseLease},
		{"a replayed claim with the full TTL", faults{fullReplay: true}, promiseLease},
		{"a sweep without grace", faults{noGrace: true}, promiseLease},
		{"a living runner given back", faults{giveBackAlive: true}, promiseLease},
		{"a taken-over lease given back", faults{giveBackForeign: true}, promiseLease},
		{"ready said before cleaning ended", faults{readyDirty: true}, promiseWord},
		{"an older inventory accepted", faults{olderInventory: true}, promiseWord},
		{"an unconfirmed device back without its number", faults{unasked: true}, promiseWord},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			generator := scripts()
			for seed := range scriptsAtMost {
				w := play(newWorld(tt.faults, false), generator.Example(seed))
				if w.broken == tt.breaks {
					t.Logf("script %d breaks promise %q %s", seed, w.broken, w.how)
					return
				}
				if w.broken != kept {
					t.Fatalf("script %d breaks promise %q instead of %q %s", seed, w.broken, tt.breaks, w.how)
				}
			}
			t.Fatalf("no script of %d breaks promise %q", scriptsAtMost, tt.breaks)
		})
	}
}

// TestModelTwoLinesOfDefence: with the lease numbers broken, the host's word alone still keeps two attempts off one device; only
// when both fail do two get their hands on it.
func TestModelTwoLinesOfDefence(t *testing.T) {
	t.Parallel()
	first := func(f faults, scriptsAtMost int) (seed int, how string) {
		generator := scripts()
		for seed := range scriptsAtMost {
			w := newWorld(f, false)
			w.only = promiseOne
			if play(w, generator.Example(seed)).broken != kept {
				return seed, w.how
			}
		}
		return -1, ""
	}
	if seed, how := first(faults{claimAtReceipt: true, renewalAtReceipt: true, noGrace: true}, 500); seed >= 0 {
		t.Errorf("lease numbers broken: script %d lets two in %s", seed, how)
	}
	seed, how := first(faults{claimAtReceipt: true, renewalAtReceipt: true, noGrace: true, readyBlind: true}, 5000)
	if seed < 0 {
		t.Error("both broken: no script of 5000 lets two in")
	}
	t.Logf("both broken: script %d lets two in %s", seed, how)
}
