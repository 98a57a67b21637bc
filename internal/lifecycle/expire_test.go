package lifecycle

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS7_1_ExpiredWithAttemptsLeft(t *testing.T) {
	t.Parallel()
	expires(t, "unclaimed", assignedLive(), after(15), phonebooth.Queued, "")
	expires(t, "claimed", dispatchedLive(), after(35), phonebooth.Queued, "")
}

func TestS7_2_ExpiredAtTheLimit(t *testing.T) {
	t.Parallel()
	expires(t, "unclaimed", lastAttempt(assignedLive()), after(15), phonebooth.Failed, "lease_expired")
	expires(t, "claimed", lastAttempt(dispatchedLive()), after(35), phonebooth.Failed, "lease_expired")
}

func TestS7_3_ExpiredWithCancellationPending(t *testing.T) {
	t.Parallel()
	expires(t, "unclaimed, attempts left", cancelling(assignedLive()), after(15), phonebooth.Cancelled, "cancelled")
	expires(t, "unclaimed, none left", cancelling(lastAttempt(assignedLive())), after(15), phonebooth.Cancelled, "cancelled")
	expires(t, "claimed, attempts left", cancelling(dispatchedLive()), after(35), phonebooth.Cancelled, "cancelled")
	expires(t, "claimed, none left", cancelling(lastAttempt(dispatchedLive())), after(35), phonebooth.Cancelled, "cancelled")
}

// expires fails unless l's attempt is due at the given time and no earlier, stays on record, and moves its task to status.
func expires(t *testing.T, name string, l Live, at time.Time, status phonebooth.Status, code string) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if _, err := Expire(l, policy, at.Add(-time.Microsecond)); phonebooth.CodeOf(err) != "not_due" {
			t.Fatalf("a moment earlier: got %v, want not_due", err)
		}
		c, err := Expire(l, policy, at)
		if err != nil {
			t.Fatal(err)
		}
		wantEnded(t, c, l, phonebooth.EndedExpired, status, code)
		if a := c.Attempts[0]; a.Reason.Code != "lease_expired" || !a.EndedAt.Equal(at) || !a.ExpiresAt.Equal(l.Attempt.ExpiresAt) {
			t.Errorf("got %+v, want the attempt on record with its expiry and its reason", a)
		}
	})
}

// wantEnded fails unless c ends l's attempt, releases its device, and moves the task to status with a failure of that code.
func wantEnded(t *testing.T, c Change, l Live, ending phonebooth.Ending, status phonebooth.Status, code string) {
	t.Helper()
	if len(c.Attempts) != 1 || c.Attempts[0].State != phonebooth.AttemptEnded || c.Attempts[0].Ending != ending {
		t.Fatalf("got attempts %+v, want one that ended as %s", c.Attempts, ending)
	}
	if len(c.Release) != 1 || c.Release[0] != l.Device.ID {
		t.Errorf("got released %v, want the device", c.Release)
	}
	task := c.Tasks[0]
	if task.Status != status || task.Attempt != l.Task.Attempt || task.CancelRequested() {
		t.Fatalf("got %s at attempt %d, cancel requested %v; want %s at attempt %d", task.Status, task.Attempt, task.CancelRequested(), status, l.Task.Attempt)
	}
	got := ""
	if task.Failure != nil {
		got = task.Failure.Code
	}
	if got != code {
		t.Errorf("got failure %q, want %q", got, code)
	}
	if status.Terminal() == task.FinishedAt.IsZero() {
		t.Errorf("got status %s, finished at %v", status, task.FinishedAt)
	}
}

func TestS7_1_UnclaimedMakesTheHostDeaf(t *testing.T) {
	t.Parallel()
	c, err := Expire(assignedLive(), policy, after(15))
	if err != nil || len(c.Hosts) != 1 || c.Hosts[0].DeafSince.IsZero() {
		t.Fatalf("got hosts %+v, %v; want a deaf one", c.Hosts, err)
	}
	if len(c.Devices) != 0 {
		t.Errorf("got devices %+v: nobody can have started", c.Devices)
	}
	c, err = Poll(c.Hosts[0], 1, after(20))
	if err != nil || !c.Hosts[0].DeafSince.IsZero() {
		t.Errorf("got %+v, %v; want it to listen again", c.Hosts, err)
	}
}

func TestS7_1_ClaimedMakesTheDeviceUnconfirmed(t *testing.T) {
	t.Parallel()
	c, err := Expire(dispatchedLive(), policy, after(35))
	if err != nil || len(c.Devices) != 1 {
		t.Fatalf("got %+v, %v; want one device", c.Devices, err)
	}
	d := c.Devices[0]
	if got := d.Available(listeningHost(), nil); got != "condition:unconfirmed" {
		t.Errorf("got %q, want the device to be no candidate", got)
	}
	if d.Confirm == 0 || d.Confirm == readyDevice().Confirm {
		t.Errorf("got confirm number %d, want a fresh one", d.Confirm)
	}
}

func TestS7_5_GivenBackIsTreatedAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		live Live
		want phonebooth.Status
		code string
	}{
		{"attempts left", dispatchedLive(), phonebooth.Queued, ""},
		{"none left", lastAttempt(dispatchedLive()), phonebooth.Failed, "agent_stopping"},
		{"cancel pending", cancelling(dispatchedLive()), phonebooth.Cancelled, "cancelled"},
		{"cancel pending, none left", cancelling(lastAttempt(dispatchedLive())), phonebooth.Cancelled, "cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, f, err := Finish(tt.live, hostA, 1, abandoned("agent_stopping"), says(6, phonebooth.Cleaning), policy, after(3))
			if err != nil || f.Refusal != nil || f.Repeat {
				t.Fatalf("got %+v, %v; want it accepted", f, err)
			}
			wantEnded(t, c, tt.live, phonebooth.EndedAbandoned, tt.want, tt.code)
			if c.Attempts[0].Reason.Code != "agent_stopping" {
				t.Errorf("got reason %+v, want the host's", c.Attempts[0].Reason)
			}
		})
	}
}

func TestReleaseTakesTheDeviceFromAWedgedAttempt(t *testing.T) {
	t.Parallel()
	c, err := Release(dispatchedLive(), after(3))
	if err != nil {
		t.Fatal(err)
	}
	wantEnded(t, c, dispatchedLive(), phonebooth.EndedReleased, phonebooth.Queued, "")
	if c.Devices[0].Condition != phonebooth.Unconfirmed {
		t.Errorf("got %s, want unconfirmed: its runner may be alive", c.Devices[0].Condition)
	}
	c, err = Release(endedLive(), after(40))
	wantCode(t, err, "not_reserved")
	wantEmpty(t, c)
}

func TestExtendWindow(t *testing.T) {
	t.Parallel()
	c, err := ExtendWindow(assignedLive(), policy, after(12))
	if err != nil || !c.Attempts[0].ExpiresAt.Equal(after(27)) {
		t.Errorf("got %+v, %v; want a new claim window", c.Attempts, err)
	}
	for _, l := range []Live{dispatchedLive(), endedLive()} {
		c, err := ExtendWindow(l, policy, after(12))
		wantCode(t, err, "not_due")
		wantEmpty(t, c)
	}
}
