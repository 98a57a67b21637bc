package lifecycle

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

// finish reports on l at the epoch + 3 s.
func finish(t *testing.T, l Live, r phonebooth.Report, word DeviceWord) (Change, Finished) {
	t.Helper()
	c, f, err := Finish(l, hostA, l.Host.Incarnation, r, word, policy, after(3))
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

func TestS8_1_FirstReportEndsTheTask(t *testing.T) {
	t.Parallel()
	late := dispatchedLive() // 100 s past its expiry, the sweep not yet there
	late.Attempt.ExpiresAt = after(-100)
	ends(t, "done", dispatchedLive(), phonebooth.OutcomeDone, phonebooth.EndedDone, phonebooth.Done, "")
	ends(t, "failed", dispatchedLive(), phonebooth.OutcomeFailed, phonebooth.EndedFailed, phonebooth.Failed, "runner_failed")
	ends(t, "failed on the last attempt", lastAttempt(dispatchedLive()), phonebooth.OutcomeFailed, phonebooth.EndedFailed, phonebooth.Failed, "runner_failed")
	ends(t, "cancelled", dispatchedLive(), phonebooth.OutcomeCancelled, phonebooth.EndedCancelled, phonebooth.Cancelled, "cancelled")
	ends(t, "done, past the expiry", late, phonebooth.OutcomeDone, phonebooth.EndedDone, phonebooth.Done, "")
}

func TestS8_5_ReportsWithACancellationPending(t *testing.T) {
	t.Parallel()
	ends(t, "done stays done", cancelling(dispatchedLive()), phonebooth.OutcomeDone, phonebooth.EndedDone, phonebooth.Done, "")
	ends(t, "failed is stored as cancelled", cancelling(dispatchedLive()), phonebooth.OutcomeFailed, phonebooth.EndedFailed, phonebooth.Cancelled, "cancelled")
	ends(t, "cancelled", cancelling(dispatchedLive()), phonebooth.OutcomeCancelled, phonebooth.EndedCancelled, phonebooth.Cancelled, "cancelled")
}

// ends fails unless the outcome is accepted, and ends the attempt and the task so.
func ends(t *testing.T, name string, l Live, outcome phonebooth.Outcome, ending phonebooth.Ending, status phonebooth.Status, code string) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c, f := finish(t, l, report(outcome), says(6, phonebooth.Cleaning))
		if f.Refusal != nil || f.Repeat || f.Task.Status != status {
			t.Fatalf("got %+v, want it accepted as %s", f, status)
		}
		wantEnded(t, c, l, ending, status, code)
		if got := c.Attempts[0].Reported; got == nil || got.Outcome != outcome {
			t.Errorf("got reported %+v, want the outcome %s kept", got, outcome)
		}
	})
}

func TestS8_1_ResultIsKept(t *testing.T) {
	t.Parallel()
	r := phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: json.RawMessage(`{"n":1}`), Runner: "fake", Fence: "process"}
	c, _ := finish(t, dispatchedLive(), r, DeviceWord{})
	if got := string(c.Tasks[0].Result); got != `{"n":1}` {
		t.Errorf("got result %s", got)
	}
	if diff := cmp.Diff(&r, c.Attempts[0].Reported); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// reported is an attempt that ended by a report, with its task as that left it, or as it is by now.
func reported(outcome phonebooth.Outcome, now phonebooth.Status, attempt int) Live {
	l := dispatchedLive()
	l.Attempt.State, l.Attempt.Reported = phonebooth.AttemptEnded, &phonebooth.Report{Outcome: outcome}
	l.Task.Status, l.Task.Attempt = now, attempt
	return l
}

func TestS8_2_SameReportAgain(t *testing.T) {
	t.Parallel()
	secondReport(t, "done", reported(phonebooth.OutcomeDone, phonebooth.Done, 1), phonebooth.OutcomeDone, "")
	secondReport(t, "failed, stored as cancelled", reported(phonebooth.OutcomeFailed, phonebooth.Cancelled, 1), phonebooth.OutcomeFailed, "")
	secondReport(t, "given back, task queued", reported(phonebooth.OutcomeAbandoned, phonebooth.Queued, 1), phonebooth.OutcomeAbandoned, "")
	secondReport(t, "given back, task runs elsewhere", reported(phonebooth.OutcomeAbandoned, phonebooth.Dispatched, 2), phonebooth.OutcomeAbandoned, "")
	secondReport(t, "given back, task done elsewhere", reported(phonebooth.OutcomeAbandoned, phonebooth.Done, 2), phonebooth.OutcomeAbandoned, "")
}

func TestS8_4_OtherOutcomeIsAConflict(t *testing.T) {
	t.Parallel()
	secondReport(t, "failed after done", reported(phonebooth.OutcomeDone, phonebooth.Done, 1), phonebooth.OutcomeFailed, "report_conflict")
	secondReport(t, "cancelled after failed, stored as cancelled", reported(phonebooth.OutcomeFailed, phonebooth.Cancelled, 1), phonebooth.OutcomeCancelled, "report_conflict")
	secondReport(t, "done after given back", reported(phonebooth.OutcomeAbandoned, phonebooth.Queued, 1), phonebooth.OutcomeDone, "report_conflict")
}

// secondReport fails unless the report changes nothing and is answered with the task as it is, or refused with the code.
func secondReport(t *testing.T, name string, l Live, outcome phonebooth.Outcome, code string) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c, f := finish(t, l, report(outcome), says(9, phonebooth.Ready))
		wantEmpty(t, c)
		if diff := cmp.Diff(l.Task, f.Task); diff != "" {
			t.Errorf("the answer tells the task as it is; -want +got:\n%s", diff)
		}
		if f.Repeat != (code == "") {
			t.Errorf("got repeat %v", f.Repeat)
		}
		if code != "" && (f.Refusal == nil || f.Refusal.Code != code) {
			t.Errorf("got refusal %v, want %s", f.Refusal, code)
		}
	})
}

func TestS8_3_LateReportIsEvidenceOnly(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Live{"expired": endedLive(), "superseded": superseded(endedLive())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: json.RawMessage(`{}`)}
			c, f := finish(t, l, late, says(9, phonebooth.Ready))
			if f.Refusal == nil || f.Refusal.Code != "lease_lost" || f.Refusal.Detail["reason"] != name {
				t.Fatalf("got %v, want lease_lost, %s", f.Refusal, name)
			}
			want := l.Attempt
			want.Evidence = &late
			if diff := cmp.Diff([]phonebooth.Attempt{want}, c.Attempts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(c.Tasks)+len(c.Devices)+len(c.Hosts)+len(c.Release)+len(c.Reserve) > 0 {
				t.Errorf("got %+v, want the evidence and nothing else", c)
			}
			l.Attempt = c.Attempts[0]
			c, f = finish(t, l, report(phonebooth.OutcomeFailed), says(10, phonebooth.Ready))
			wantEmpty(t, c) // the first evidence stays
			if f.Refusal == nil || f.Refusal.Code != "lease_lost" {
				t.Errorf("got %v, want lease_lost again", f.Refusal)
			}
		})
	}
}

func TestS8_1_ReportsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		live        Live
		host        phonebooth.HostID
		incarnation int64
		outcome     phonebooth.Outcome
		want        string
	}{
		{"another host", dispatchedLive(), "host_b", 1, phonebooth.OutcomeDone, "lease_unknown"},
		{"an older life", onIncarnation(dispatchedLive(), 2), hostA, 1, phonebooth.OutcomeDone, "host_superseded"},
		{"another host, long ended", endedLive(), "host_b", 1, phonebooth.OutcomeDone, "lease_unknown"},
		{"no outcome that we know", dispatchedLive(), hostA, 1, "finished", "invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _, err := Finish(tt.live, tt.host, tt.incarnation, report(tt.outcome), DeviceWord{}, policy, after(1))
			wantCode(t, err, tt.want)
			wantEmpty(t, c)
		})
	}
}

func TestS8_1_LaterLifeOfTheSameAgentReports(t *testing.T) {
	t.Parallel()
	c, f := finish(t, onIncarnation(dispatchedLive(), 2), report(phonebooth.OutcomeDone), DeviceWord{})
	if f.Refusal != nil || c.Tasks[0].Status != phonebooth.Done {
		t.Errorf("got %+v, want done", f)
	}
}

func TestC49_ReportsAndInventoriesInAnyOrder(t *testing.T) {
	t.Parallel()
	sighting := func(c phonebooth.Condition) []Sighting {
		return []Sighting{{Key: keyUSB, Name: "R58M12", DriverType: "android", Condition: c}}
	}
	word := func(seq int64) phonebooth.Word { return phonebooth.Word{Incarnation: 1, Seq: seq} }

	t.Run("an older inventory after a newer report", func(t *testing.T) {
		t.Parallel()
		c, _ := finish(t, dispatchedLive(), report(phonebooth.OutcomeDone), says(9, phonebooth.Cleaning))
		d := c.Devices[0]
		if d.Condition != phonebooth.Cleaning {
			t.Fatalf("got %s after the report, want cleaning", d.Condition)
		}
		c, err := Inventory(listeningHost(), word(8), sighting(phonebooth.Ready), []phonebooth.Device{d}, after(4))
		if err != nil || len(c.Devices) != 0 {
			t.Errorf("got %+v, %v; want the condition to stay", c.Devices, err)
		}
		c, err = Inventory(listeningHost(), word(8), nil, []phonebooth.Device{d}, after(4))
		if err != nil || len(c.Devices) != 0 {
			t.Errorf("missing in an older one: got %+v, %v; want the condition to stay", c.Devices, err)
		}
		c, err = Inventory(listeningHost(), word(10), sighting(phonebooth.Ready), []phonebooth.Device{d}, after(5))
		if err != nil || len(c.Devices) != 1 || c.Devices[0].Condition != phonebooth.Ready {
			t.Errorf("got %+v, %v; want the newer inventory to count", c.Devices, err)
		}
	})
	t.Run("an older report after a newer inventory that changed nothing", func(t *testing.T) {
		t.Parallel()
		l := dispatchedLive()
		c, err := Inventory(l.Host, word(9), sighting(phonebooth.Ready), []phonebooth.Device{l.Device}, after(2))
		if err != nil || len(c.Devices) != 0 {
			t.Fatalf("got %+v, %v; want nothing written", c.Devices, err)
		}
		l.Host = c.Hosts[0]
		c, _ = finish(t, l, report(phonebooth.OutcomeDone), says(8, phonebooth.Unhealthy))
		for _, d := range c.Devices {
			if d.Condition != phonebooth.Ready {
				t.Errorf("got %s, want the newer word, ready", d.Condition)
			}
		}
	})
	t.Run("inventories out of order", func(t *testing.T) {
		t.Parallel()
		c, err := Inventory(listeningHost(), word(5), sighting(phonebooth.Offline), []phonebooth.Device{readyDevice()}, after(2))
		if err != nil || len(c.Devices) != 0 {
			t.Errorf("got %+v, %v; want an inventory that is not newer to change nothing", c.Devices, err)
		}
	})
}

func TestC34_StreakOfQuickFailuresQuarantines(t *testing.T) {
	t.Parallel()
	const quick, slow = 5, 11 // seconds after the claim
	for _, tt := range []struct {
		name   string
		before int
		report phonebooth.Report
		at     float64
		streak int
		hold   phonebooth.Hold
	}{
		{"first", 0, abandoned("device_lost"), quick, 1, phonebooth.NoHold},
		{"second, another code", 1, abandoned("runner_killed"), quick, 2, phonebooth.NoHold},
		{"third", 2, abandoned("try_again"), quick, 3, phonebooth.Quarantined},
		{"third, slow", 2, abandoned("device_lost"), slow, 2, phonebooth.NoHold},
		{"third says nothing of the device", 2, abandoned("agent_stopping"), quick, 2, phonebooth.NoHold},
		{"done in between", 2, report(phonebooth.OutcomeDone), quick, 0, phonebooth.NoHold},
		{"failed by itself in between", 2, report(phonebooth.OutcomeFailed), quick, 0, phonebooth.NoHold},
		{"cancelled in between", 2, report(phonebooth.OutcomeCancelled), quick, 2, phonebooth.NoHold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := dispatchedLive()
			l.Device.Streak = tt.before
			c, _, err := Finish(l, hostA, 1, tt.report, DeviceWord{}, policy, after(tt.at))
			if err != nil {
				t.Fatal(err)
			}
			d := l.Device
			if len(c.Devices) > 0 {
				d = c.Devices[0]
			}
			if d.Streak != tt.streak || d.Hold != tt.hold {
				t.Errorf("got streak %d and hold %s, want %d and %s", d.Streak, d.Hold, tt.streak, tt.hold)
			}
			if d.Hold == phonebooth.Quarantined && (d.HoldReason == "" || d.Available(l.Host, nil) != phonebooth.ReasonQuarantine) {
				t.Errorf("got reason %q, available %q; want the evidence and no candidate", d.HoldReason, d.Available(l.Host, nil))
			}
		})
	}
}

func TestC34_UncordonForgetsTheStreak(t *testing.T) {
	t.Parallel()
	d := readyDevice()
	d.Hold, d.HoldReason, d.HoldSince, d.Streak = phonebooth.Quarantined, "three attempts", epoch, 3
	got := Uncordon(d).Devices[0]
	want := readyDevice()
	want.Rev++
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if policy.Quick() != 10*time.Second {
		t.Errorf("got quick %v, want a third of the lease", policy.Quick())
	}
}
