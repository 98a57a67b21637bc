package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS10_1_RenewMovesTheExpiryForward(t *testing.T) {
	t.Parallel()
	c, r, err := Renew(dispatchedLive(), hostA, policy, after(10))
	if err != nil {
		t.Fatal(err)
	}
	want := dispatchedLive().Attempt
	want.ExpiresAt = after(40)
	if diff := cmp.Diff(Change{Attempts: []phonebooth.Attempt{want}}, c); diff != "" {
		t.Errorf("nothing but the expiry moves, and no event tells of it; -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(Renewal{Lease: 30 * time.Second, Fence: 26 * time.Second}, r); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestS10_2_CancellationIsToldAndChangesNothing(t *testing.T) {
	t.Parallel()
	plain, _, _ := Renew(dispatchedLive(), hostA, policy, after(10))
	c, r, err := Renew(cancelling(dispatchedLive()), hostA, policy, after(10))
	if err != nil || !r.CancelRequested || r.Lost != "" {
		t.Fatalf("got %+v, %v; want it renewed and told", r, err)
	}
	if diff := cmp.Diff(plain, c); diff != "" {
		t.Errorf("-without +with a cancellation:\n%s", diff)
	}
}

// A renewal knows nothing but the rows: whatever process decided the cancellation, the next renewal tells it.
func TestS10_3_CancellationIsReadFromTheRows(t *testing.T) {
	t.Parallel()
	l := dispatchedLive()
	c, err := Cancel(l.Task, after(5))
	if err != nil {
		t.Fatal(err)
	}
	l.Task = c.Tasks[0]
	if _, r, err := Renew(l, hostA, policy, after(10)); err != nil || !r.CancelRequested {
		t.Errorf("got %+v, %v; want the cancellation told", r, err)
	}
}

func TestS10_4_LostLeases(t *testing.T) {
	t.Parallel()
	overtime := dispatchedLive()
	overtime.Task.Timeout = time.Second
	overtime.Attempt.ExpiresAt = after(90)
	released := endedLive()
	released.Attempt.Ending = phonebooth.EndedReleased
	done := endedLive()
	done.Task.Status, done.Attempt.Ending = phonebooth.Done, phonebooth.EndedDone
	for _, tt := range []struct {
		name string
		live Live
		at   time.Time
		want string
	}{
		{"just before the expiry", dispatchedLive(), after(29.999), ""},
		{"at the expiry", dispatchedLive(), after(30), "expired"},
		{"past it, within the grace", dispatchedLive(), after(34), "expired"},
		{"swept", endedLive(), after(40), "expired"},
		{"superseded", superseded(endedLive()), after(40), "superseded"},
		{"released by an operator", released, after(10), "released"},
		{"ended by its report", done, after(10), "ended"},
		{"its agent was taken over", onIncarnation(dispatchedLive(), lineSpan), after(10), "superseded"},
		{"the task's time + 2 TTL has not passed", overtime, after(61), ""},
		{"the task's time + 2 TTL has passed", overtime, after(61.001), "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, r, err := Renew(tt.live, hostA, policy, tt.at)
			if err != nil || r.Lost != tt.want {
				t.Fatalf("got lost %q, %v; want %q", r.Lost, err, tt.want)
			}
			if tt.want != "" {
				wantEmpty(t, c)
			}
		})
	}
}

func TestS10_5_NeverClaimed(t *testing.T) {
	t.Parallel()
	swept := endedLive()
	swept.Attempt.DispatchedAt, swept.Attempt.ClaimID = time.Time{}, ""
	for name, l := range map[string]Live{"assigned": assignedLive(), "expired unclaimed": swept} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := Renew(l, hostA, policy, after(1))
			wantCode(t, err, "not_claimed")
			wantEmpty(t, c)
			for _, outcome := range []phonebooth.Outcome{phonebooth.OutcomeDone, phonebooth.OutcomeAbandoned} {
				c, _, err := Finish(l, hostA, 1, report(outcome), says(9, phonebooth.Ready), policy, after(1))
				wantCode(t, err, "not_claimed")
				wantEmpty(t, c)
			}
		})
	}
}

func TestS10_1_OnlyTheOwningHostRenews(t *testing.T) {
	t.Parallel()
	c, _, err := Renew(dispatchedLive(), "host_b", policy, after(1))
	wantCode(t, err, "lease_unknown")
	wantEmpty(t, c)
}
