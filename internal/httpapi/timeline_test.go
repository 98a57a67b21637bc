package httpapi_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// TestTheTimelineTellsWhatDevicesWentThrough goes the whole way: real changes, their record, and the client.
func TestTheTimelineTellsWhatDevicesWentThrough(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	seen := func(name string, c phonebooth.Condition) lifecycle.Sighting {
		return lifecycle.Sighting{Key: name, Name: name, DriverType: "sim", Fence: "gate", Condition: c}
	}
	name, _, _ := h.enroll(t, "rack")
	host := phonebooth.HostID(name)
	inventory := func(seq int64, sightings ...lifecycle.Sighting) {
		t.Helper()
		if _, err := h.control.Inventory(ctx, control.Caller{Actor: "host:rack"}, host, phonebooth.Word{Incarnation: 1, Seq: seq}, sightings); err != nil {
			t.Fatal(err)
		}
	}
	inventory(1, seen("phone-1", phonebooth.Ready), seen("phone-2", phonebooth.Ready))
	inventory(2, seen("phone-1", phonebooth.Cleaning), seen("phone-2", phonebooth.Ready))
	inventory(3, seen("phone-1", phonebooth.Ready))
	id := phonebooth.DeviceIDOf(host, "phone-2")
	if err := h.control.Cordon(ctx, control.Caller{Actor: "admin"}, id, "battery"); err != nil {
		t.Fatal(err)
	}
	line, err := h.admin.Timeline(ctx, client.TimelineQuery{Limit: 1})
	if err != nil || line.Devices != 2 || len(line.Rows) != 1 || line.Next == "" || line.FoldMS != 12_000 {
		t.Fatalf("the first page: %+v, %v", line, err)
	}
	if rest, err := h.admin.Timeline(ctx, client.TimelineQuery{After: line.Next}); err != nil || len(rest.Rows) != 1 || rest.Next != "" {
		t.Errorf("the second page: %+v, %v", rest, err)
	}
	fine := client.TimelineQuery{From: time.Now().Add(-time.Minute), To: time.Now().Add(time.Minute), DeviceIDs: []string{string(id)}, Columns: 600}
	line, err = h.admin.Timeline(ctx, fine)
	if err != nil || len(line.Rows) != 1 {
		t.Fatalf("one device: %+v, %v", line, err)
	}
	var got []string
	for _, s := range line.Rows[0].Stretches {
		got = append(got, s.Track+" "+s.State+" "+s.Reason)
	}
	want := []string{"condition offline its host does not see it any more", "hold cordoned battery"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stretches (-want +got):\n%s", diff)
	}
}

func TestATimelineIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	now := time.Now()
	for name, q := range map[string]client.TimelineQuery{
		"too long":     {From: now.Add(-15 * 24 * time.Hour), To: now},
		"turned round": {From: now, To: now.Add(-time.Hour)},
		"too fine":     {Columns: 10_000},
		"a page lost":  {After: "device_gone"},
	} {
		if _, err := h.admin.Timeline(t.Context(), q); phonebooth.CodeOf(err) != "invalid" {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
}
