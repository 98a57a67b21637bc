package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// explain asks why a task stands where it does, once everything that was committed has been acted on.
func explain(t *testing.T, sys *servertest.System, id string) v1.Explanation {
	t.Helper()
	sys.Settle(t)
	e, err := sys.Client(t).Explain(t.Context(), id)
	if err != nil {
		t.Fatalf("explain %s: %v", id, err)
	}
	t.Logf("%s\n%s", e.Status, strings.Join(e.Sentences, "\n"))
	return e
}

// says checks that a sentence holds all of the words, in that order.
func says(t *testing.T, e v1.Explanation, words ...string) {
	t.Helper()
	for _, sentence := range e.Sentences {
		rest, ok := sentence, true
		for _, w := range words {
			var found bool
			_, rest, found = strings.Cut(rest, w)
			ok = ok && found
		}
		if ok {
			return
		}
	}
	t.Errorf("no sentence has %q in order:\n%s", words, strings.Join(e.Sentences, "\n"))
}

func tagged(key string, tags ...string) v1.Sighting {
	p := servertest.Phone(key)
	p.Tags = tags
	return p
}

func TestC15_ATagThatNobodyHasIsNamedWithTheNearest(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		sys.Host(t, "rack-1", tagged("p1", "pixel", "lab"), tagged("p2", "galaxy"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DriverType: "android", Tags: []string{"pixle"}}})
		e := explain(t, sys, task.ID)
		says(t, e, "It waits because none of the 2 known devices has the tag \"pixle\"")
		says(t, e, "Did you mean the tag \"pixel\"?")
		if got := e.Wait.Clauses[1]; got.Meeting != 0 || got.Left != 0 || got.Lost != 2 || !slices.Equal(got.Nearest, []string{"pixel"}) {
			t.Errorf("the clause of the tag is %+v, want both devices lost to it and pixel as the nearest", got)
		}
		if status, p := sys.Raw(t, "POST", v1.PathTasks, `{"goal":"x","constraints":{"tgas":["pixel"]}}`); status < 400 || status >= 500 {
			t.Errorf("a misspelt key of the constraints was answered with %d %+v, want a refusal", status, p)
		}
	})
}

func TestExplainAllBusy(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "rack-1", tagged("p1", "pixel"), tagged("p2", "pixel"), tagged("p3"))
		pixel := v1.Constraints{Tags: []string{"pixel"}}
		first := sys.Submit(t, v1.TaskRequest{Goal: "a", Constraints: pixel})
		second := sys.Submit(t, v1.TaskRequest{Goal: "b", Constraints: pixel})
		host.ClaimOne(t)
		host.ClaimOne(t)
		task := sys.Submit(t, v1.TaskRequest{Goal: "c", Constraints: pixel})
		e := explain(t, sys, task.ID)
		says(t, e, "It waits because both devices that meet its constraints are busy")
		for _, holder := range []string{first.ID, second.ID} {
			says(t, e, "busy with "+holder, "attempt 1 of 3", "the lease runs for another", "the timeout ends it in 30 min at the latest")
		}
		says(t, e, "no other task is ahead of it")
		says(t, e, "Of the 3 known devices", "the tag \"pixel\" leaves 2 (without p3 on rack-1)")
		if w := e.Wait; w.Known != 3 || w.Candidates != 2 || w.States[0].State != "reserved" || w.States[0].Count != 2 || w.Ahead.Count != 0 {
			t.Errorf("wait %+v, want two of three devices as candidates, both reserved", w)
		}
	})
}

func TestExplainHostOffline(t *testing.T) {
	servertest.EachWith(t, servertest.Options{TTL: servertest.ShortTTL}, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "rack-1", servertest.Phone("p1"))
		sys.WaitHost(t, host.ID, func(h v1.Host) bool { return h.State == "silent" })
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		e := explain(t, sys, task.ID)
		says(t, e, "It waits because the only device of the pool is out of reach, with a silent host")
		says(t, e, "p1 on rack-1: its host has been silent for", "see whether the agent there is running")
		if st := e.Wait.States; len(st) != 1 || st[0].State != string(phonebooth.ReasonSilent) || st[0].Devices[0].Since == nil {
			t.Errorf("states %+v, want the host silent and since when", st)
		}
	})
}

func TestExplainQuarantine(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "rack-1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", MaxAttempts: 4})
		for range 3 {
			a := host.ClaimOne(t)
			host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "device_lost", Message: "the phone went away"})
			host.MustInventory(t)
		}
		e := explain(t, sys, task.ID)
		says(t, e, "It waits because the only device of the pool is in quarantine")
		says(t, e, "p1 on rack-1: in quarantine for", "device_lost", "phonebooth device uncordon "+host.DeviceID("p1"))
		says(t, e, "Attempt 3, on p1 on rack-1, ran for", "was given back by the host: the phone went away (device_lost: the device went away)", "queued again")
		if got := e.Wait.States[0]; got.State != "quarantined" || !got.Devices[0].Tried || len(e.Attempts) != 3 {
			t.Errorf("state %+v after %d attempts, want the device quarantined and tried by the three", got, len(e.Attempts))
		}
	})
}

func TestExplainBehindOthers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "rack-1", tagged("p1", "pixel"), tagged("p2", "galaxy"))
		pixel, galaxy := v1.Constraints{Tags: []string{"pixel"}}, v1.Constraints{Tags: []string{"galaxy"}}
		sys.Submit(t, v1.TaskRequest{Goal: "a", Constraints: pixel})
		sys.Submit(t, v1.TaskRequest{Goal: "b", Constraints: galaxy})
		host.ClaimOne(t)
		host.ClaimOne(t)
		older := sys.Submit(t, v1.TaskRequest{Goal: "c", Constraints: pixel})
		sys.Submit(t, v1.TaskRequest{Goal: "for another device", Constraints: galaxy})
		anywhere := sys.Submit(t, v1.TaskRequest{Goal: "d", Constraints: v1.Constraints{DriverType: "android"}})
		task := sys.Submit(t, v1.TaskRequest{Goal: "e", Constraints: pixel})
		sys.Submit(t, v1.TaskRequest{Goal: "younger", Constraints: pixel})
		e := explain(t, sys, task.ID)
		says(t, e, "2 queued tasks are ahead of it for this device", older.ID, anywhere.ID)
		var first []string
		for _, a := range e.Wait.Ahead.First {
			first = append(first, a.ID)
		}
		if want := []string{older.ID, anywhere.ID}; e.Wait.Ahead.Count != 2 || !slices.Equal(first, want) {
			t.Errorf("ahead %+v, want %v", e.Wait.Ahead, want)
		}
	})
}

func TestExplainARunAndItsEnd(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "rack-1", tagged("p1", "pixel"), tagged("p2"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Tags: []string{"pixel"}}, TimeoutS: 90})
		e := explain(t, sys, task.ID)
		says(t, e, "It is assigned to p1 on rack-1 (attempt 1 of 3)", "to fetch it")
		a := host.ClaimOne(t)
		e = explain(t, sys, task.ID)
		says(t, e, "It runs on p1 on rack-1 (attempt 1 of 3)")
		says(t, e, "Why this device", "the tag \"pixel\"", "fifo_match chose it")
		says(t, e, "the task's timeout ends the attempt in")
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "abandoned", Code: "try_again"})
		host.MustInventory(t)
		a = host.ClaimOne(t)
		sys.Cancel(t, task.ID)
		e = explain(t, sys, task.ID)
		says(t, e, "A cancellation was asked for", "with the next renewal")
		says(t, e, "Attempt 1, on p1 on rack-1, ran for", "try_again", "queued again")
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "cancelled"})
		sys.Restart(t)
		e = explain(t, sys, task.ID)
		says(t, e, "It was cancelled after 2 attempts")
		says(t, e, "Attempt 2, on p1 on rack-1", "stopped on request")

		host.MustInventory(t)
		failing := sys.Submit(t, v1.TaskRequest{Goal: "y"})
		a = host.ClaimOne(t)
		host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "failed", Code: "runner_failed", Message: "no such button"})
		e = explain(t, sys, failing.ID)
		says(t, e, "It failed after 1 attempt", "no such button (runner_failed: the runner says that the goal was not reached)")
		says(t, e, "Attempt 1", "A verdict of the runner is final")
	})
}

func TestExplainBeforeSubmitting(t *testing.T) {
	servertest.EachWith(t, servertest.Options{MaxQueueDepth: 1}, func(t *testing.T, sys *servertest.System) {
		sys.Host(t, "rack-1", tagged("p1", "pixel"))
		c, before := sys.Client(t), sys.Tasks(t)
		sys.Settle(t)
		e, err := c.ExplainRequest(t.Context(), v1.TaskRequest{Goal: "x"})
		if err != nil || e.Wait.Next == nil || e.Refusal != nil || e.TaskID != "" {
			t.Fatalf("got %+v, %v, want p1 at once", e, err)
		}
		says(t, e, "It would start at once, on p1 on rack-1.")
		if diff := cmp.Diff(before, sys.Tasks(t)); diff != "" {
			t.Errorf("it stored something:\n%s", diff)
		}

		lost := sys.Submit(t, v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{DriverType: "ios"}})
		e, err = c.ExplainRequest(t.Context(), v1.TaskRequest{Goal: "x"})
		if err != nil || e.Refusal == nil || e.Refusal.Code != "queue_full" || e.Wait == nil {
			t.Errorf("with a full queue: %+v, %v, want queue_full told", e, err)
		}
		for body, code := range map[string]string{
			`{"goal":""}`: "invalid",
			`{"goal":"x","constraints":{"tgas":["a"]}}`:  "invalid",
			`{"workflow":{"name":"none"}}`:               "workflow_unknown",
			`{"goal":"x","max_attempts":99}`:             "invalid",
			`{"goal":"x","workflow":{"name":"none"}}`:    "invalid",
			`{"workflow":{"name":"none","inputs":[1]}}`:  "invalid",
			`{"goal":"x","constraints":{"tags":["a\"]}}`: "malformed",
		} {
			status, p := sys.Raw(t, "POST", v1.PathTasks+"/explain", body)
			wantStatus, want := sys.Raw(t, "POST", v1.PathTasks, body)
			if p.Code != code || status != wantStatus || !cmp.Equal(p, want) {
				t.Errorf("%s: got %d %+v, a submission is refused with %d %+v, want %s of both", body, status, p, wantStatus, want, code)
			}
		}
		if status, p := sys.Raw(t, "GET", v1.PathTasks+"/task_none/explain", ""); status != 404 || p.Code != "task_unknown" {
			t.Errorf("explain of an unknown task: %d %+v", status, p)
		}
		sys.Restart(t) // asked at once: the queue may not have been read yet
		if e, err := sys.Client(t).Explain(t.Context(), lost.ID); err != nil || e.Wait == nil || e.Wait.Clauses[0].Meeting != 0 {
			t.Errorf("after a restart: %+v, %v, want the same explanation", e, err)
		}
	})
}
