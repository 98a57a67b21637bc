package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

// pooled is a scripted control with a pool.
type pooled struct {
	*scripted
	pool control.Pool
}

func (p *pooled) Pool(context.Context) (control.Pool, error) { return p.pool, nil }

func rack() *pooled {
	p := &pooled{scripted: newScripted()}
	p.pool = control.Pool{
		Hosts:        map[phonebooth.HostID]phonebooth.Host{"host_1": {ID: "host_1", Name: "Rack-East"}, "host_2": {ID: "host_2", Name: "desk"}},
		Reservations: map[phonebooth.DeviceID]phonebooth.Reservation{"device_2": {DeviceID: "device_2", Attempt: phonebooth.AttemptKey{TaskID: "task_1", Number: 1}}},
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, d := range []phonebooth.Device{
		{ID: "device_1", HostID: "host_1", Name: "pixel", DriverType: "android", Tags: []string{"5g", "lab"}, Attributes: map[string]string{"model": "Pixel 8"}},
		{ID: "device_2", HostID: "host_1", Name: "\u202egalaxy\x1b[31m", DriverType: "android", Tags: []string{"lab"}},
		{ID: "device_3", HostID: "host_2", Name: "se", DriverType: "ios", Condition: phonebooth.Offline},
		{ID: "device_4", HostID: "host_2", Name: "sim", DriverType: "sim", Hold: phonebooth.Quarantined, Tags: []string{"lab", "a,b"}},
	} {
		d.RegisteredAt = at.Add(time.Duration(i/2) * time.Second) // two at a time
		if d.Condition == "" {
			d.Condition = phonebooth.Ready
		}
		if d.Hold == "" {
			d.Hold = phonebooth.NoHold
		}
		p.pool.Devices = append([]phonebooth.Device{d}, p.pool.Devices...)
	}
	return p
}

func TestDevicesAreChosen(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, rack())
	for query, want := range map[string]string{
		"": "1 2 3 4", "driver_type=android": "1 2", "driver_type=ios,sim": "3 4", "tag=lab": "1 2 4", "tag=lab&tag=5g": "1", "tag=a,b": "4",
		"host_id=host_2": "3 4", "condition=ready": "1 2 4", "condition=offline,unauthorized": "3", "hold=none": "1 2 3", "hold=cordoned,quarantined": "4",
		"state=idle": "1", "state=busy": "2", "state=unavailable": "3 4", "state=idle,busy": "1 2", "text=PIXEL+8": "1", "text=rack-e": "1 2",
		"text=GALAXY": "2", "text=lab": "1 2 4", "text=nothing": "", "state=idle&driver_type=ios": "",
	} {
		if got := devicesOf(t, r, query, 0); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"state=asleep", "hold=maybe", "limit=1001", "limit=0", "cursor=x", "cursor=c2VxOjE", "colour=red"} {
		if a := r.ask(t, "GET", "/v1/devices?"+query, ""); a.status != 422 {
			t.Errorf("%s: got %d %s", query, a.status, a.body)
		}
	}
}

func TestDevicesComeAPageAtATime(t *testing.T) {
	t.Parallel()
	p := rack()
	r := newRigOf(t, p)
	for _, limit := range []int{1, 2, 3, 4, 5} {
		if got := devicesOf(t, r, "", limit); got != "1 2 3 4" {
			t.Errorf("pages of %d: got %q", limit, got)
		}
	}
	// A cursor is a place in an order that does not change: the device it was made of may be gone.
	first := r.ask(t, "GET", "/v1/devices?limit=2", "")
	var list v1.DeviceList
	if err := json.Unmarshal([]byte(first.body), &list); err != nil {
		t.Fatal(err)
	}
	p.pool.Devices = p.pool.Devices[:2] // 3 and 4
	if got := devicesOf(t, r, "cursor="+url.QueryEscape(list.Next), 0); got != "3 4" {
		t.Errorf("behind devices that are gone: got %q", got)
	}
}

// devicesOf are the numbers of the devices on all pages.
func devicesOf(t *testing.T, r *rig, query string, limit int) string {
	t.Helper()
	if limit > 0 {
		query += fmt.Sprintf("&limit=%d", limit)
	}
	var got []string
	for next := ""; ; {
		path := "/v1/devices?" + query
		if next != "" {
			path += "&cursor=" + url.QueryEscape(next)
		}
		a := r.ask(t, "GET", path, "")
		var list v1.DeviceList
		if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != 200 {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		for _, d := range list.Devices {
			got = append(got, strings.TrimPrefix(d.ID, "device_"))
		}
		if next = list.Next; next == "" {
			return strings.Join(got, " ")
		}
	}
}
