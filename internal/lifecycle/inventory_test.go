package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

func sighting(condition phonebooth.Condition) Sighting {
	return Sighting{Key: keyUSB, Name: "R58M12", DriverType: "android", Condition: condition}
}

// inventory takes s as the host's only device, said with the seq under the host's incarnation.
func inventory(t *testing.T, h phonebooth.Host, seq int64, s []Sighting, known ...phonebooth.Device) Change {
	t.Helper()
	c, err := Inventory(h, phonebooth.Word{Incarnation: h.Incarnation, Seq: seq}, s, known, after(1))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInventoryRegistersADeviceOnce(t *testing.T) {
	t.Parallel()
	s := sighting(phonebooth.Ready)
	s.Tags = []string{"b", "a", "b"}
	c := inventory(t, listeningHost(), 6, []Sighting{s})
	d := c.Devices[0]
	if d.ID != phonebooth.DeviceIDOf(hostA, keyUSB) || d.HostID != hostA || d.Rev != 1 || d.Hold != phonebooth.NoHold {
		t.Errorf("got %+v", d)
	}
	if diff := cmp.Diff([]string{"a", "b"}, d.Tags); diff != "" {
		t.Errorf("tags -want +got:\n%s", diff)
	}
	if c.Events[0].Kind != phonebooth.DeviceRegistered {
		t.Errorf("got event %s", c.Events[0].Kind)
	}
	again := inventory(t, c.Hosts[0], 7, []Sighting{s}, d)
	if len(again.Devices)+len(again.Events) != 0 {
		t.Errorf("got %+v, want an unchanged inventory to write no device and no event", again)
	}
	if again.Hosts[0].Word.Seq != 7 || !again.Hosts[0].HeardAt.Equal(after(1)) {
		t.Errorf("got %+v, want the heartbeat noted", again.Hosts[0])
	}
}

func TestInventoryOfChanges(t *testing.T) {
	t.Parallel()
	tagged := sighting(phonebooth.Ready)
	tagged.Tags = []string{"5g"}
	unconfirmed := readyDevice()
	unconfirmed.Condition, unconfirmed.Confirm = phonebooth.Unconfirmed, 11
	for _, tt := range []struct {
		name  string
		known phonebooth.Device
		seen  []Sighting
		want  phonebooth.Condition // "": nothing is written
	}{
		{"unchanged", readyDevice(), []Sighting{sighting(phonebooth.Ready)}, ""},
		{"another condition", readyDevice(), []Sighting{sighting("unauthorized")}, "unauthorized"},
		{"another tag", readyDevice(), []Sighting{tagged}, phonebooth.Ready},
		{"missing", readyDevice(), nil, phonebooth.Offline},
		{"unconfirmed, seen ready", unconfirmed, []Sighting{sighting(phonebooth.Ready)}, ""},
		{"unconfirmed, an older number", unconfirmed, []Sighting{confirmed(sighting(phonebooth.Ready), 10)}, ""},
		{"unconfirmed, its number, ready", unconfirmed, []Sighting{confirmed(sighting(phonebooth.Ready), 11)}, phonebooth.Ready},
		{"unconfirmed, its number, cleaning", unconfirmed, []Sighting{confirmed(sighting(phonebooth.Cleaning), 11)}, phonebooth.Cleaning},
		{"unconfirmed, its number, offline", unconfirmed, []Sighting{confirmed(sighting(phonebooth.Offline), 11)}, phonebooth.Offline},
		{"unconfirmed and missing", unconfirmed, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := inventory(t, listeningHost(), 6, tt.seen, tt.known)
			if tt.want == "" {
				if len(c.Devices)+len(c.Events) != 0 {
					t.Fatalf("got %+v, want nothing written", c)
				}
				return
			}
			if len(c.Devices) != 1 || len(c.Events) != 1 || c.Devices[0].Condition != tt.want {
				t.Fatalf("got %+v, want %s and one event", c, tt.want)
			}
			if d := c.Devices[0]; d.Confirm != 0 || d.Word.Seq != 6 || d.Rev != tt.known.Rev+1 {
				t.Errorf("got confirm %d, word %+v, rev %d", d.Confirm, d.Word, d.Rev)
			}
		})
	}
}

func confirmed(s Sighting, n int64) Sighting {
	s.Confirm = n
	return s
}

// A ready that was said before the sweep took the lease, and arrives afterwards, proves nothing.
func TestUnconfirmedNeedsAWordFromAfterwards(t *testing.T) {
	t.Parallel()
	c, err := Expire(dispatchedLive(), policy, after(35))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Devices[0]
	if c := inventory(t, listeningHost(), 6, []Sighting{sighting(phonebooth.Ready)}, d); len(c.Devices) != 0 {
		t.Fatalf("got %+v, want it to stay unconfirmed", c.Devices)
	}
	c = inventory(t, listeningHost(), 7, []Sighting{confirmed(sighting(phonebooth.Ready), d.Confirm)}, d)
	if got := c.Devices[0].Available(listeningHost(), nil); got != phonebooth.Available {
		t.Errorf("got %q, want a candidate", got)
	}
}

func TestC01_DeviceIsACandidateAgainWithTheNextReady(t *testing.T) {
	t.Parallel()
	l := dispatchedLive()
	c, err := Expire(l, policy, l.Attempt.ExpiresAt.Add(policy.Grace))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Release) != 1 || c.Attempts[0].Reason.Code != "lease_expired" {
		t.Fatalf("got %+v, want the reservation gone and the attempt closed with a reason", c)
	}
	d := c.Devices[0]
	d = inventory(t, l.Host, 6, []Sighting{confirmed(sighting(phonebooth.Ready), d.Confirm)}, d).Devices[0]
	if _, err := Place(Placement{LeaseID: "lease_2"}, l.Host, d, nil, c.Tasks[0], policy, after(40)); err != nil {
		t.Errorf("got %v, want the device to take a task again", err)
	}
}

func TestC26_SilentHostsDevicesAreNoCandidates(t *testing.T) {
	t.Parallel()
	h, d := listeningHost(), readyDevice()
	if _, err := Silence(h, policy, after(44.999)); phonebooth.CodeOf(err) != "not_due" {
		t.Fatalf("a moment before: got %v, want not_due", err)
	}
	c, err := Silence(h, policy, after(45))
	if err != nil || d.Available(c.Hosts[0], nil) != phonebooth.ReasonSilent {
		t.Fatalf("got %+v, %v; want its devices to be no candidates", c.Hosts, err)
	}
	if _, err := Silence(c.Hosts[0], policy, after(60)); phonebooth.CodeOf(err) != "not_due" {
		t.Errorf("twice: got %v, want not_due", err)
	}
	c = inventory(t, c.Hosts[0], 6, []Sighting{sighting(phonebooth.Ready)}, d)
	if got := d.Available(c.Hosts[0], nil); got != phonebooth.Available || c.Events[0].Kind != phonebooth.HostHeard {
		t.Errorf("back: got %q, %+v; want candidates and an event", got, c.Events)
	}
}
