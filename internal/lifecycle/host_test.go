package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

// start begins a life of host h's agent.
func start(t *testing.T, h phonebooth.Host, startID string, previous int64, takeOver bool) phonebooth.Host {
	t.Helper()
	c, got, err := Start(h, startID, previous, takeOver, "v1", after(1))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Hosts) > 0 {
		if diff := cmp.Diff(c.Hosts[0], got); diff != "" {
			t.Fatalf("the answer is not what is written; -written +answer:\n%s", diff)
		}
	}
	return got
}

func TestC10_SecondAgentIsRefusedOrTakesOver(t *testing.T) {
	t.Parallel()
	first := start(t, Enroll(hostA, "a", "", epoch).Hosts[0], "start-a", 0, false)
	first = start(t, first, "start-b", first.Incarnation, false) // the first agent, restarted
	if first.Incarnation != 2 {
		t.Fatalf("got incarnation %d, want 2", first.Incarnation)
	}

	c, _, err := Start(first, "start-copy", 1, false, "v1", after(1)) // a copy made before the restart
	wantCode(t, err, "host_identity_conflict")
	wantEmpty(t, c)

	taken := start(t, first, "start-copy", 1, true)
	if taken.Incarnation <= first.Incarnation {
		t.Fatalf("got incarnation %d after %d", taken.Incarnation, first.Incarnation)
	}
	wantCode(t, CheckIncarnation(taken, first.Incarnation), "host_superseded")
	_, err = Poll(taken, first.Incarnation, after(2))
	wantCode(t, err, "host_superseded")
	_, err = Inventory(taken, phonebooth.Word{Incarnation: first.Incarnation, Seq: 99}, nil, nil, after(2))
	wantCode(t, err, "host_superseded")

	_, _, err = Start(taken, "start-c", first.Incarnation, false, "v1", after(3)) // they never take turns
	wantCode(t, err, "host_identity_conflict")
}

func TestC10_RepeatedStartIsTheSameStart(t *testing.T) {
	t.Parallel()
	h := start(t, listeningHost(), "start-2", 1, false)
	c, again, err := Start(h, "start-2", 1, false, "v1", after(9))
	if err != nil || !c.Empty() {
		t.Fatalf("got %+v, %v; want nothing", c, err)
	}
	if diff := cmp.Diff(h, again); diff != "" {
		t.Errorf("-first +repeat:\n%s", diff)
	}
}

// The agent that took over cannot know what the older one is still doing, so its leases run out by themselves.
func TestC10_TakenOverLeasesRunOut(t *testing.T) {
	t.Parallel()
	l := dispatchedLive()
	l.Host = start(t, l.Host, "start-copy", 0, true)
	c, f, err := Finish(l, hostA, l.Host.Incarnation, abandoned("agent_restarted"), says(1, phonebooth.Ready), policy, after(2))
	if err != nil || !c.Empty() || f.Refusal == nil || f.Refusal.Code != "lease_lost" {
		t.Fatalf("give-back: got %+v, %+v, %v; want it refused", c, f, err)
	}
	if c, r, err := Renew(l, hostA, policy, after(2)); err != nil || r.Lost != "superseded" || !c.Empty() {
		t.Fatalf("renewal: got %+v, %v; want the lease lost", r, err)
	}
	c, err = Expire(l, policy, after(35))
	if err != nil || c.Devices[0].Condition != phonebooth.Unconfirmed {
		t.Fatalf("got %+v, %v; want the sweep to take it in its time", c.Devices, err)
	}

	l = dispatchedLive()
	l.Host = start(t, l.Host, "start-2", 1, false) // the same agent, restarted: it knows
	c, f, err = Finish(l, hostA, 2, abandoned("agent_restarted"), DeviceWord{}, policy, after(2))
	if err != nil || f.Refusal != nil || c.Tasks[0].Status != phonebooth.Queued {
		t.Errorf("a restarted agent's give-back: got %+v, %v; want it accepted at once", f, err)
	}
}

// What an earlier life said of the devices may be wrong by now: they are candidates when the new life has said what it sees
// and asked for work, in either order.
func TestStartedHostIsNoCandidateBeforeItsInventory(t *testing.T) {
	t.Parallel()
	d := readyDevice()
	poll := func(h phonebooth.Host) phonebooth.Host {
		t.Helper()
		c, err := Poll(h, h.Incarnation, after(2))
		if err != nil {
			t.Fatal(err)
		}
		return c.Hosts[0]
	}
	see := func(h phonebooth.Host) phonebooth.Host {
		t.Helper()
		return inventory(t, h, 1, []Sighting{sighting(phonebooth.Ready)}, d).Hosts[0]
	}
	started := start(t, listeningHost(), "start-2", 1, false)
	for name, tt := range map[string]struct {
		host phonebooth.Host
		want phonebooth.Reason
	}{
		"started":              {started, phonebooth.ReasonDeaf},
		"asked for work only":  {poll(started), phonebooth.ReasonDeaf},
		"said what it sees":    {see(started), phonebooth.ReasonDeaf},
		"asked, then said":     {see(poll(started)), phonebooth.Available},
		"said, then asked":     {poll(see(started)), phonebooth.Available},
		"an inventory is kept": {poll(listeningHost()), phonebooth.Available},
	} {
		if got := d.Available(tt.host, nil); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestDeafen(t *testing.T) {
	t.Parallel()
	h := listeningHost() // polled at the epoch
	for _, tt := range []struct {
		name string
		host phonebooth.Host
		seen time.Time
		want string
	}{
		{"its parked request broke", h, epoch, ""},
		{"it asked again since", h, after(-1), "not_due"},
		{"removed", removed(Live{Host: h}).Host, epoch, "not_due"},
	} {
		c, err := Deafen(tt.host, "its request broke", tt.seen, after(3))
		if got := phonebooth.CodeOf(err); got != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if tt.want == "" && (len(c.Hosts) != 1 || readyDevice().Available(c.Hosts[0], nil) != phonebooth.ReasonDeaf) {
			t.Errorf("%s: got %+v, want it deaf", tt.name, c.Hosts)
		}
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	h := listeningHost()
	c, err := Leave(h, h.Incarnation, after(3))
	if err != nil || len(c.Hosts) != 1 || readyDevice().Available(c.Hosts[0], nil) != phonebooth.ReasonDeaf {
		t.Fatalf("got %+v, %v, want it deaf", c.Hosts, err)
	}
	if c, err := Poll(c.Hosts[0], h.Incarnation, after(4)); err != nil || !c.Hosts[0].DeafSince.IsZero() {
		t.Errorf("got %+v, %v, want it listening when it asks again", c.Hosts, err)
	}
	if _, err := Leave(h, h.Incarnation-1, after(3)); phonebooth.CodeOf(err) != "host_superseded" {
		t.Errorf("an older agent: got %v, want host_superseded", err)
	}
}

// C35, what the rows have to say: a drained host takes nothing new, and what runs may end.
func TestDrainLetsRunningTasksEnd(t *testing.T) {
	t.Parallel()
	l := dispatchedLive()
	l.Host = Drain(l.Host, after(1)).Hosts[0]
	wantEmpty(t, Drain(l.Host, after(2))) // twice is once
	_, err := Place(Placement{}, l.Host, readyDevice(), nil, taskIn(phonebooth.Queued), policy, after(2))
	wantCode(t, err, "device_unavailable")
	if _, r, err := Renew(l, hostA, policy, after(2)); err != nil || r.Lost != "" {
		t.Errorf("renewal: got %+v, %v; want it renewed", r, err)
	}
	if c, _ := finish(t, l, report(phonebooth.OutcomeDone), DeviceWord{}); c.Tasks[0].Status != phonebooth.Done {
		t.Errorf("report: got %s, want done", c.Tasks[0].Status)
	}
	l.Host = Resume(l.Host).Hosts[0]
	if got := readyDevice().Available(l.Host, nil); got != phonebooth.Available {
		t.Errorf("resumed: got %q, want candidates again", got)
	}
	wantEmpty(t, Resume(l.Host))
}

func TestRemove(t *testing.T) {
	t.Parallel()
	c, err := Remove(listeningHost(), 1, after(1))
	wantCode(t, err, "host_busy")
	wantEmpty(t, c)
	c, err = Remove(listeningHost(), 0, after(1))
	if err != nil {
		t.Fatal(err)
	}
	gone := c.Hosts[0]
	wantCode(t, CheckIncarnation(gone, gone.Incarnation), "unauthenticated")
	if got := readyDevice().Available(gone, nil); got != phonebooth.ReasonRemoved {
		t.Errorf("got %q, want its devices to be no candidates", got)
	}
	if c, err := Remove(gone, 0, after(2)); err != nil || !c.Empty() {
		t.Errorf("twice: got %+v, %v; want nothing", c, err)
	}
}

func TestCordon(t *testing.T) {
	t.Parallel()
	c := Cordon(readyDevice(), "cracked screen", after(1))
	d := c.Devices[0]
	if d.Available(listeningHost(), nil) != phonebooth.ReasonCordon || d.HoldReason != "cracked screen" || !d.HoldSince.Equal(after(1)) {
		t.Errorf("got %+v", d)
	}
	wantEmpty(t, Cordon(d, "cracked screen", after(2)))
	if d = Uncordon(d).Devices[0]; d.Available(listeningHost(), nil) != phonebooth.Available {
		t.Errorf("got %+v, want a candidate", d)
	}
	wantEmpty(t, Uncordon(d))
}
