package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

func TestALeaderStaysUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	lead := func(l lifecycle.Leader, holder string, s int) (lifecycle.Leader, bool) {
		c, after, leads := lifecycle.Lead(l, holder, 15*time.Second, false, at(s))
		if leads != (c.Leader != nil) || leads && *c.Leader != after {
			t.Errorf("%s at %d: leads %v, but the change is %+v", holder, s, leads, c)
		}
		return after, leads
	}
	l, leads := lead(lifecycle.Leader{}, "a", 0)
	if want := (lifecycle.Leader{Holder: "a", Term: 1, Until: at(15)}); !leads || l != want {
		t.Fatalf("the first: %+v, %v; want %+v", l, leads, want)
	}
	if l, leads = lead(l, "b", 14); leads || l.Holder != "a" {
		t.Errorf("b took over from %+v while its time ran", l)
	}
	if l, leads = lead(l, "a", 10); !leads || l.Term != 1 || !l.Until.Equal(at(25)) {
		t.Errorf("renewed: %+v, %v", l, leads)
	}
	if l, leads = lead(l, "b", 25); !leads || l.Term != 2 || l.Holder != "b" {
		t.Errorf("after its end: %+v, %v; want b in term 2", l, leads)
	}
	if l, leads = lead(l, "b", 41); !leads || l.Term != 3 {
		t.Errorf("b that came too late: %+v, %v; want a new term", l, leads)
	}
	if c := lifecycle.Resign(l, "b", 2, at(42)); c.Leader != nil {
		t.Errorf("an older term resigned: %+v", *c.Leader)
	}
	c := lifecycle.Resign(l, "b", 3, at(42))
	if c.Leader == nil {
		t.Fatal("the leader could not resign")
	}
	if l, leads = lead(*c.Leader, "a", 42); !leads || l.Term != 4 {
		t.Errorf("after b resigned: %+v, %v; want a in term 4", l, leads)
	}
}

func TestAloneALeaderWaitsForNobody(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := lifecycle.Leader{Holder: "before", Term: 7, Until: now.Add(time.Minute)}
	if _, after, leads := lifecycle.Lead(l, "after", 15*time.Second, true, now); !leads || after.Term != 8 {
		t.Errorf("%+v, %v; want term 8", after, leads)
	}
}

// At any time at most one term is not over, and terms only grow.
func TestTermsOnlyGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now, l := time.Unix(1000, 0), lifecycle.Leader{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "seconds")) * time.Second)
			holder := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "holder")
			var c lifecycle.Change
			if rapid.Bool().Draw(t, "resigns") {
				c = lifecycle.Resign(l, holder, l.Term, now)
			} else {
				c, _, _ = lifecycle.Lead(l, holder, 15*time.Second, false, now)
			}
			if c.Leader == nil {
				continue
			}
			after := *c.Leader
			changed := after.Holder != l.Holder
			if after.Term < l.Term || changed && after.Term == l.Term {
				t.Fatalf("%+v became %+v", l, after)
			}
			if after.Term != l.Term && now.Before(l.Until) {
				t.Fatalf("term %d began at %v, before %+v was over", after.Term, now, l)
			}
			l = after
		}
	})
}
