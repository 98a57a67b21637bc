package reach_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth/internal/reach"
)

// Whatever comes in whatever order, reach knows what a set of positions would know.
func TestReachIsASetOfPositions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r reach.Reach
		in := map[int64]bool{}
		upTo := func() (n int64) {
			for in[n+1] {
				n++
			}
			return n
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			first := rapid.Int64Range(1, 40).Draw(t, "first")
			last := first + rapid.Int64Range(0, 5).Draw(t, "more")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				r.Jump(first)
				for p := int64(1); p <= first; p++ {
					in[p] = true
				}
			case 1:
				want := true
				for p := first; p <= last; p++ {
					want = want && in[p]
				}
				if got := r.Has(first, last); got != want {
					t.Fatalf("has(%d, %d) = %v with %+v, want %v", first, last, got, r, want)
				}
			default:
				for p := first; p <= last; p++ {
					in[p] = true
				}
				newest := int64(0)
				for p := range in {
					newest = max(newest, p)
				}
				if got, want := r.Add(first, last), upTo() == newest; got != want {
					t.Fatalf("add(%d, %d) = %v, want %v: %+v", first, last, got, want, r)
				}
			}
			if r.UpTo() != upTo() {
				t.Fatalf("up to %d, want %d: %+v", r.UpTo(), upTo(), r)
			}
		}
	})
}
