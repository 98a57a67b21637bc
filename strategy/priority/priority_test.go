package priority_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/priority"
	"github.com/phonebooth-dev/phonebooth/strategy/strategytest"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func task(id phonebooth.TaskID, seq int64, level int, after time.Duration) strategy.Task {
	return strategy.Task{TaskFacts: strategy.TaskFacts{ID: id, Seq: seq, Priority: level, CreatedAt: start.Add(after)}}
}

func TestS3_3_EachLevelIsTenMinutesOfHeadStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule  string
		tasks []strategy.Task
		first phonebooth.TaskID
	}{
		{"equal levels go by age", []strategy.Task{task("old", 1, 0, 0), task("new", 2, 0, time.Second)}, "old"},
		{"one level overtakes less than ten minutes", []strategy.Task{task("old", 1, 0, 0), task("new", 2, 1, 10*time.Minute-time.Microsecond)}, "new"},
		{"at exactly ten minutes the older goes first", []strategy.Task{task("old", 1, 0, 0), task("new", 2, 1, 10*time.Minute)}, "old"},
		{"a low level waits, but not for ever", []strategy.Task{task("low", 1, -10, 0), task("high", 2, 10, 200*time.Minute)}, "low"},
		{"a low level waits", []strategy.Task{task("low", 1, -10, 0), task("high", 2, 10, 199*time.Minute)}, "high"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			s := priority.New()
			view := strategytest.NewView(s, tc.tasks, []phonebooth.Device{{ID: "d"}})
			want := []strategy.Placement{{TaskID: tc.first, DeviceID: "d"}}
			if diff := cmp.Diff(want, s.Plan(view)); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRanksAreMicroseconds(t *testing.T) {
	t.Parallel()
	got := priority.New().Rank(task("t", 1, 2, 0).TaskFacts)
	if want := start.Add(-20 * time.Minute).UnixMicro(); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
