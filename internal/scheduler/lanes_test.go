package scheduler

import (
	"fmt"
	"testing"
)

// TestTheLongestLanesAreFoundWithoutOrderingAll counts memory: what is ordered is held.
func TestTheLongestLanesAreFoundWithoutOrderingAll(t *testing.T) {
	x := &index{lanes: map[string]*lane{}}
	const all = 10_000
	for i := range all {
		key := fmt.Sprintf("lane-%05d", i)
		x.lanes[key] = &lane{key: key, queued: i % 1000}
	}
	kept, count := x.longest(12)
	if count != all-all/1000 || len(kept) != 12 {
		t.Fatalf("%d of %d lanes", len(kept), count)
	}
	for i, l := range kept { // ten are equally long, and go by their keys
		if want := fmt.Sprintf("lane-%05d", i%10*1000+999-i/10); l.key != want {
			t.Errorf("%d: %s, want %s", i, l.key, want)
		}
	}
	if none, count := x.longest(0); len(none) != 0 || count != all-all/1000 {
		t.Errorf("of none: %d of %d", len(none), count)
	}
	if grown := testing.AllocsPerRun(5, func() { _, _ = x.longest(12) }); grown > 8 {
		t.Errorf("%v pieces of memory for 12 lanes", grown)
	}
}
