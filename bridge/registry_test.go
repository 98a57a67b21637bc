package bridge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	var g bridge.Registry
	open := func(s bridge.Settings) (bridge.Bridge, error) { return nil, s.Only("known") }
	for _, c := range []struct {
		name string
		open bridge.Open
		ok   bool
	}{{"b", open, true}, {"a", open, true}, {"a", open, false}, {"two words", open, false}, {"c", nil, false}} {
		if err := g.Register(c.name, c.open); (err == nil) != c.ok {
			t.Errorf("Register(%q) = %v, want ok = %v", c.name, err, c.ok)
		}
	}
	if _, err := g.New("nope", nil); phonebooth.CodeOf(err) != "unknown_bridge" || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("New(nope) = %v, want unknown_bridge with the known names", err)
	}
	if _, err := g.New("a", bridge.Settings{"unknown": "x"}); err == nil || !strings.Contains(err.Error(), "bridge a") || !strings.Contains(errors.Unwrap(err).Error(), "known") {
		t.Errorf("New with an unknown setting = %v, want the bridge and the known settings", err)
	}
	if _, err := g.New("a", bridge.Settings{"known": "x"}); err != nil {
		t.Errorf("New(a) = %v", err)
	}
}
