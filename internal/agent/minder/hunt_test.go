package minder

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestWhatWouldNotDieIsNamed(t *testing.T) {
	t.Parallel()
	parent, found := lookUp(os.Getppid())
	if !found {
		t.Skip("the parent is not to be seen here")
	}
	parent.start++ // so it is nobody that a signal could reach
	h := newHunt(func([]process) []process { return []process{parent} })
	left, err := h.run(t.Context(), time.Millisecond, func() {})
	if left != 1 || err != nil || len(h.killed) != 0 || !slices.Equal(h.left, []identity{parent.identity}) {
		t.Errorf("left = %d %v, killed = %v, %v; want the one that could not be killed", left, h.left, h.killed, err)
	}
}
