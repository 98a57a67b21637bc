package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS6_1_ClaimDispatchesUnderAFullLease(t *testing.T) {
	t.Parallel()
	c, err := Claim(assignedLive(), hostA, "claim-1", 1, policy, after(4))
	if err != nil {
		t.Fatal(err)
	}
	a, task := c.Attempts[0], c.Tasks[0]
	if a.State != phonebooth.AttemptDispatched || a.ClaimID != "claim-1" || a.Incarnation != 1 ||
		!a.DispatchedAt.Equal(after(4)) || !a.ExpiresAt.Equal(after(34)) {
		t.Errorf("got attempt %+v", a)
	}
	if task.Status != phonebooth.Dispatched || !task.DispatchedAt.Equal(after(4)) {
		t.Errorf("got task %+v", task)
	}
	if len(c.Release)+len(c.Reserve) > 0 {
		t.Errorf("the reservation was touched: %+v", c)
	}
	if lease, fence := LeaseLeft(a, policy, after(5)); lease != 29*time.Second || fence != 25*time.Second {
		t.Errorf("got %v and %v left a second later, want 29s and 25s", lease, fence)
	}
}

func TestS6_3_RefusedClaimsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		live        Live
		host        phonebooth.HostID
		incarnation int64
		at          time.Time
		want        string
		reason      string
	}{
		{"just before the expiry", assignedLive(), hostA, 1, after(14.999), "", ""},
		{"at the expiry", assignedLive(), hostA, 1, after(15), "lease_lost", "expired"},
		{"after it, the sweep not yet there", assignedLive(), hostA, 1, after(60), "lease_lost", "expired"},
		{"swept", endedLive(), hostA, 1, after(60), "lease_lost", "expired"},
		{"swept and placed anew", superseded(endedLive()), hostA, 1, after(60), "lease_lost", "superseded"},
		{"claimed by another request", dispatchedLive(), hostA, 1, after(1), "lease_lost", "claimed"},
		{"another host", assignedLive(), "host_b", 1, after(1), "lease_unknown", ""},
		{"an older life of the agent", onIncarnation(assignedLive(), 2), hostA, 1, after(1), "host_superseded", ""},
		{"a life that nobody knows", assignedLive(), hostA, 2, after(1), "host_identity_conflict", ""},
		{"a removed host", removed(assignedLive()), hostA, 1, after(1), "unauthenticated", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Claim(tt.live, tt.host, "claim-2", tt.incarnation, policy, tt.at)
			wantCode(t, err, tt.want)
			if tt.want == "" {
				return
			}
			wantEmpty(t, c)
			if refusal, _ := errors.AsType[*phonebooth.Error](err); refusal.Detail["reason"] != tt.reason {
				t.Errorf("got reason %q, want %q", refusal.Detail["reason"], tt.reason)
			}
		})
	}
}

func superseded(l Live) Live {
	l.Task.Attempt, l.Task.Status = 2, phonebooth.Assigned
	return l
}

func onIncarnation(l Live, n int64) Live {
	l.Host.Incarnation = n
	return l
}

func removed(l Live) Live {
	l.Host.RemovedAt = epoch
	return l
}

func TestS6_4_CancellingAttemptIsClaimedAndReportedCancelled(t *testing.T) {
	t.Parallel()
	l := cancelling(assignedLive())
	c, err := Claim(l, hostA, "claim-1", 1, policy, after(1))
	if err != nil {
		t.Fatal(err)
	}
	l.Task, l.Attempt = c.Tasks[0], c.Attempts[0]
	if l.Task.Status != phonebooth.Dispatched || !l.Task.CancelRequested() {
		t.Fatalf("got %s, cancel requested %v; want dispatched and true", l.Task.Status, l.Task.CancelRequested())
	}
	c, _, err = Finish(l, hostA, 1, report(phonebooth.OutcomeCancelled), says(6, phonebooth.Ready), policy, after(2))
	if err != nil || c.Tasks[0].Status != phonebooth.Cancelled {
		t.Fatalf("got %v, %v; want cancelled", c.Tasks, err)
	}
}
