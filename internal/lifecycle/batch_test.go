package lifecycle

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
)

// A batch leaves what its tasks would leave one by one, or nothing.
func TestS1_2_SubmitAllIsSubmitForEachOrNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit, queued, n := rapid.IntRange(0, 8).Draw(t, "limit"), rapid.IntRange(0, 10).Draw(t, "queued"), rapid.IntRange(0, 8).Draw(t, "n")
		var tasks []Submitted
		var want Change
		var refused error
		for i := range n {
			s := Submitted{ID: phonebooth.TaskID(fmt.Sprint("task_", i)), Spec: phonebooth.TaskSpec{Goal: fmt.Sprint(i)}, By: phonebooth.Submission{Subject: "a"}}
			tasks = append(tasks, s)
			c, err := Submit(s.ID, s.Spec, s.By, queued+i, limit, epoch)
			refused = errors.Join(refused, err)
			want.Tasks, want.Events = append(want.Tasks, c.Tasks...), append(want.Events, c.Events...)
		}
		got, err := SubmitAll(tasks, queued, limit, epoch)
		if refused != nil {
			want = Change{}
			if phonebooth.CodeOf(err) != "queue_full" {
				t.Errorf("got %v, want queue_full", err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
