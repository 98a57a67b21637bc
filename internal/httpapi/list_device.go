package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

type listDevicesInput struct {
	DriverType []string `query:"driver_type" maxItems:"32" doc:"any of these, separated by commas"`
	Tag        []string `query:"tag,explode" maxItems:"64" doc:"given several times, all are required"`
	HostID     string   `query:"host_id"`
	Condition  []string `query:"condition" maxItems:"32" doc:"any of these, separated by commas: ready, offline, ..."`
	Hold       []string `query:"hold" enum:"none,cordoned,quarantined" doc:"any of these, separated by commas"`
	State      []string `query:"state" enum:"idle,busy,unavailable" doc:"any of these, separated by commas: idle takes a task now, busy holds one, unavailable does neither"`
	Text       string   `query:"text" maxLength:"256" doc:"in the name, the id, the host's name, the tags or the attributes, whatever the case"`
	Cursor     string   `query:"cursor" maxLength:"512" doc:"next of the page before"`
	Limit      int      `query:"limit" minimum:"1" maximum:"1000" default:"500"`
}

type deviceListOutput struct{ Body v1.DeviceList }

func (s *Server) listDevices(ctx context.Context, in *listDevicesInput) (*deviceListOutput, error) {
	behind, err := parseDeviceCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	pool, err := s.control.Pool(ctx)
	if err != nil {
		return nil, err
	}
	var found []v1.Device
	for _, d := range pool.Devices {
		wire := wireDevice(pool, d)
		if behind.before(wire) && in.match(wire, pool) {
			found = append(found, wire)
		}
	}
	slices.SortFunc(found, func(a, b v1.Device) int { return placeOf(a).compare(placeOf(b)) })
	out := &deviceListOutput{Body: v1.DeviceList{Devices: []v1.Device{}}}
	if len(found) > in.Limit {
		found = found[:in.Limit]
		out.Body.Next = placeOf(found[in.Limit-1]).cursor()
	}
	out.Body.Devices = append(out.Body.Devices, found...)
	return out, nil
}

func (in *listDevicesInput) match(d v1.Device, pool control.Pool) bool {
	among := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	missing := func(tag string) bool { return !slices.Contains(d.Tags, tag) }
	return among(in.DriverType, d.DriverType) && among(in.Condition, d.Condition) && among(in.Hold, d.Hold) &&
		among(in.State, stateOf(d)) && (in.HostID == "" || in.HostID == d.HostID) && !slices.ContainsFunc(in.Tag, missing) &&
		(in.Text == "" || mentions(d, pool.Hosts[phonebooth.HostID(d.HostID)].Name, strings.ToLower(in.Text)))
}

// stateOf says in a word whether a device takes a task now.
func stateOf(d v1.Device) string {
	switch {
	case d.TaskID != "":
		return "busy"
	case d.Unavailable == "":
		return "idle"
	}
	return "unavailable"
}

// mentions reports whether the small text is somewhere in what people know d by.
func mentions(d v1.Device, host, text string) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if in(d.Name) || in(d.ID) || in(host) || slices.ContainsFunc(d.Tags, in) {
		return true
	}
	for key, value := range d.Attributes {
		if in(key) || in(value) {
			return true
		}
	}
	return false
}

// place is where a device stands in the list. It never changes.
type place struct {
	registered time.Time
	id         string
}

func placeOf(d v1.Device) place { return place{d.RegisteredAt, d.ID} }

func (p place) compare(o place) int {
	return cmp.Or(p.registered.Compare(o.registered), cmp.Compare(p.id, o.id))
}

// before reports whether d comes behind p; everything comes behind the zero place.
func (p place) before(d v1.Device) bool { return p == place{} || p.compare(placeOf(d)) < 0 }

func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte("device:" + strconv.FormatInt(p.registered.UnixMicro(), 10) + ":" + p.id))
}

func parseDeviceCursor(cursor string) (p place, err error) {
	if cursor == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	rest, ok := strings.CutPrefix(string(text), "device:")
	at, id, pair := strings.Cut(rest, ":")
	micros, parseErr := strconv.ParseInt(at, 10, 64)
	if err != nil || parseErr != nil || !ok || !pair || id == "" {
		return p, badCursor()
	}
	return place{time.UnixMicro(micros).UTC(), id}, nil
}
