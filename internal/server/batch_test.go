package server_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// goals are a batch of tasks that nothing can run.
func goals(n int, prefix string) []v1.TaskRequest {
	reqs := make([]v1.TaskRequest, n)
	for i := range reqs {
		reqs[i] = v1.TaskRequest{Goal: fmt.Sprint(prefix, i)}
	}
	return reqs
}

func idsOf(tasks []v1.Task) (ids []string) {
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestS1_1_ABatchIsStoredInItsOrder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		const n = phonebooth.MaxBatchTasks
		tasks, err := sys.Client(t).SubmitBatch(t.Context(), "all", goals(n, "goal "))
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range tasks {
			if want := fmt.Sprint("goal ", i); task.Goal != want || task.Status != "queued" {
				t.Fatalf("task %d is %s %q, want queued %q", i, task.Status, task.Goal, want)
			}
		}
		distinct := idsOf(tasks)
		slices.Sort(distinct)
		if got := len(slices.Compact(distinct)); got != n {
			t.Errorf("%d distinct ids, want %d", got, n)
		}
		newest := idsOf(sys.Tasks(t))
		slices.Reverse(newest)
		if diff := gocmp.Diff(idsOf(tasks[n-len(newest):]), newest); diff != "" {
			t.Errorf("the newest tasks are not the last of the batch, -want +got:\n%s", diff)
		}
	})
}

func TestS1_2_ABatchFitsIntoTheQueueWholeOrNotAtAll(t *testing.T) {
	servertest.EachWith(t, servertest.Options{MaxQueueDepth: 10}, func(t *testing.T, sys *servertest.System) {
		c := sys.Client(t)
		_, err := c.SubmitBatch(t.Context(), "too-many", goals(11, "x"))
		if phonebooth.CodeOf(err) != "queue_full" {
			t.Fatalf("11 tasks into a queue of 10: %v, want queue_full", err)
		}
		if detail(err, "limit") != "10" || !strings.Contains(err.Error(), "10") {
			t.Errorf("refused with %v, want the limit named", err)
		}
		var mu sync.Mutex
		var accepted int
		var wg sync.WaitGroup
		for i := range 8 { // 4 of size 3 do not fit: at most 3 are accepted, and single tasks fill the rest
			wg.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = c.SubmitBatch(t.Context(), fmt.Sprint("b", i), goals(3, "x"))
				} else {
					_, err = c.SubmitKey(t.Context(), fmt.Sprint("t", i), v1.TaskRequest{Goal: "x"})
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted += 3 - 2*(i%2)
				case phonebooth.CodeOf(err) != "queue_full":
					t.Errorf("refused with %v, want queue_full", err)
				}
			})
		}
		wg.Wait()
		if stored := len(sys.Tasks(t)); stored != accepted || stored > 10 {
			t.Errorf("%d tasks are stored and %d accepted, want as many, and 10 at most", stored, accepted)
		}
	})
}

func TestS1_4_OneSenselessTaskRefusesItsBatch(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		sys.ApplyWorkflow(t, "smoke", "version: steps/v1\nname: smoke\ninputs:\n  app: {}\nsteps:\n  - open ${app}\n")
		long := strings.Repeat("x", 4<<20)
		for _, c := range []struct {
			name, body string
			status     int
			code, at   string
		}{
			{"no tasks", `{"tasks":[]}`, 422, "invalid", "/tasks"},
			{"no list", `{}`, 422, "invalid", ""},
			{"too many", `{"tasks":[` + strings.Repeat(`{"goal":"x"},`, 1000) + `{"goal":"x"}]}`, 422, "invalid", "/tasks"},
			{"unknown field", `{"tasks":[{"goal":"x"},{"goal":"x","golas":1}]}`, 422, "invalid", "/tasks/1/golas"},
			{"empty goal", `{"tasks":[{"goal":"x"},{"goal":" "}]}`, 422, "invalid", "/tasks/1/goal"},
			{"a tag", `{"tasks":[{"goal":"x","constraints":{"tags":["a",""]}}]}`, 422, "invalid", "/tasks/0/constraints/tags/1"},
			{"unknown workflow", `{"tasks":[{"goal":"x"},{"workflow":{"name":"nope"}}]}`, 404, "workflow_unknown", "/tasks/1"},
			{"unknown input", `{"tasks":[{"workflow":{"name":"smoke","inputs":{"app":"a"}}},{"workflow":{"name":"smoke","inputs":{"ap":"a"}}}]}`, 422, "invalid", "/tasks/1/workflow/inputs"},
			{"NUL", `{"tasks":[{"goal":"a\u0000"}]}`, 422, "invalid", "/tasks/0/goal"},
			{"too large", `{"tasks":[{"goal":"` + long + `"}]}`, 413, "too_large", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				status, problem := sys.Raw(t, "POST", v1.PathTaskBatch, c.body)
				if status != c.status || problem.Code != c.code || !strings.HasPrefix(problem.Extra["pointer"], c.at) || problem.Detail == "" {
					t.Errorf("got %d %+v, want %d %s at %q with a detail", status, problem, c.status, c.code, c.at)
				}
			})
		}
		if tasks := sys.Tasks(t); len(tasks) != 0 {
			t.Errorf("%d tasks are stored, want none", len(tasks))
		}
	})
}

func TestABatchLargerThanOtherBodiesIsTaken(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		reqs := goals(30, strings.Repeat("x", 100<<10-2))
		if _, err := sys.Client(t).SubmitBatch(t.Context(), "large", reqs); err != nil {
			t.Errorf("3 MiB of goals: %v", err)
		}
	})
}

func TestABatchTakesOneVersionOfAWorkflow(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		for _, step := range []string{"open Settings", "go home"} {
			sys.ApplyWorkflow(t, "smoke", "version: steps/v1\nname: smoke\nsteps:\n  - "+step+"\n")
		}
		newest, first := v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "smoke"}}, v1.TaskRequest{Workflow: &v1.WorkflowRef{Name: "smoke", Version: 1}}
		tasks, err := sys.Client(t).SubmitBatch(t.Context(), "k", []v1.TaskRequest{newest, first, newest})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{2, 1, 2} {
			if got := tasks[i].Workflow.Version; got != want {
				t.Errorf("task %d has version %d, want %d", i, got, want)
			}
		}
	})
}

func TestC17_ARepeatedBatchIsTheSameTasks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		c := sys.Client(t)
		var wg sync.WaitGroup
		answers := make([][]string, 6)
		for i := range answers {
			wg.Go(func() {
				tasks, err := c.SubmitBatch(t.Context(), "the-key", goals(5, "x"))
				if err != nil {
					t.Errorf("submit: %v", err)
				}
				answers[i] = idsOf(tasks)
			})
		}
		wg.Wait()
		for _, ids := range answers {
			if diff := gocmp.Diff(answers[0], ids); diff != "" || len(ids) != 5 {
				t.Errorf("one key, two answers:\n%s", diff)
			}
		}
		sys.Cancel(t, answers[0][3])
		sys.Restart(t)
		again, err := c.SubmitBatch(t.Context(), "the-key", goals(5, "x"))
		if err != nil || again[3].Status != "cancelled" || again[2].Status != "queued" {
			t.Errorf("the replay answers %+v, %v, want the tasks as they are now", again, err)
		}
		for name, other := range map[string][]v1.TaskRequest{"shorter": goals(4, "x"), "longer": goals(6, "x"), "another": goals(5, "y")} {
			if _, err := c.SubmitBatch(t.Context(), "the-key", other); phonebooth.CodeOf(err) != "idempotency_key_reused" {
				t.Errorf("%s batch under the key: %v, want idempotency_key_reused", name, err)
			}
		}
		if _, err := c.SubmitKey(t.Context(), "the-key", v1.TaskRequest{Goal: "x0"}); phonebooth.CodeOf(err) != "idempotency_key_reused" {
			t.Errorf("a task under the key of a batch: %v, want idempotency_key_reused", err)
		}
		if _, err := c.SubmitKey(t.Context(), "single", v1.TaskRequest{Goal: "x0"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SubmitBatch(t.Context(), "single", goals(1, "x")); phonebooth.CodeOf(err) != "idempotency_key_reused" {
			t.Errorf("a batch under the key of a task: %v, want idempotency_key_reused", err)
		}
		if n := len(sys.Tasks(t)); n != 6 {
			t.Errorf("%d tasks, want 6", n)
		}
	})
}

// What a batch leaves is what its tasks, one by one, would leave when none of them is refused, and else nothing.
func TestBatchesAreAllOrNothing(t *testing.T) {
	servertest.EachWith(t, servertest.Options{MaxQueueDepth: 40}, func(t *testing.T, sys *servertest.System) {
		c := sys.Client(t)
		sent, total, stored := 0, 0, map[string][]string{} // ids by key
		rapid.Check(t, func(rt *rapid.T) {
			n := rapid.IntRange(1, 12).Draw(rt, "tasks")
			spoilt := rapid.IntRange(-3, n-1).Draw(rt, "spoilt") // below 0: none
			reqs := goals(n, "g")
			if spoilt >= 0 {
				reqs[spoilt].Goal = ""
			}
			key := fmt.Sprint("key-", sent)
			if sent++; len(stored) > 0 && rapid.Bool().Draw(rt, "again") {
				key = rapid.SampledFrom(sortedKeys(stored)).Draw(rt, "key")
				reqs, spoilt = goals(len(stored[key]), "g"), -1
			}
			tasks, err := c.SubmitBatch(t.Context(), key, reqs)
			var want string
			switch known := stored[key]; {
			case known != nil:
				if diff := gocmp.Diff(known, idsOf(tasks)); diff != "" {
					rt.Fatalf("a repeat gave other tasks, %v:\n%s", err, diff)
				}
				n = 0
			case spoilt >= 0:
				want, n = "invalid", 0
				if at := detail(err, "index"); at != fmt.Sprint(spoilt) {
					rt.Fatalf("task %s is blamed, want %d: %v", at, spoilt, err)
				}
			case total+n > 40:
				want, n = "queue_full", 0
			default:
				stored[key] = idsOf(tasks)
			}
			if phonebooth.CodeOf(err) != want {
				rt.Fatalf("got %v, want %q", err, want)
			}
			total += n
			if after := len(everyTask(rt, t, c)); after != total {
				rt.Fatalf("%d tasks, want %d", after, total)
			}
		})
	})
}

func sortedKeys(m map[string][]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

func detail(err error, name string) string {
	if e, ok := errors.AsType[*phonebooth.Error](err); ok {
		return e.Detail[name]
	}
	return ""
}

func everyTask(rt *rapid.T, t *testing.T, c *client.Client) []v1.Task {
	list, err := c.Tasks(t.Context(), client.TaskQuery{Limit: 500})
	if err != nil {
		rt.Fatal(err)
	}
	return list.Tasks
}
