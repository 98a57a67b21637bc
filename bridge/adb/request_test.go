package adb

import (
	"slices"
	"strings"
	"testing"

	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// named is a gate to a phone that has every kind of name.
func named() *gate {
	return &gate{device: wire.Device{
		TransportID: 7, Serial: "0123456789ABCDEF", USBPath: "usb:1-2", Product: "p", Model: "Pixel_9", Name: "d", State: wire.StateDevice,
	}}
}

func TestRequestsAreTakenApart(t *testing.T) {
	t.Parallel()
	names := []string{"127.0.0.1:5555", "a:b", "a"}
	for text, want := range map[string]request{
		"host:version":                                {verb: "version"},
		"host:devices-l":                              {verb: "devices-l"},
		"host:track-devices":                          {verb: "track-devices"},
		"host:transport-any":                          {verb: "transport"},
		"host:transport-usb":                          {verb: "transport"},
		"host:transport-local":                        {verb: "transport"},
		"host:transport:10.0.0.1:5555":                {verb: "transport", target: wanted{serial: "10.0.0.1:5555"}},
		"host:transport-id:12":                        {verb: "transport", target: wanted{id: 12}},
		"host:transport-id:x":                         {verb: "transport", target: wanted{serial: "transport x"}},
		"host:transport-id:0":                         {verb: "transport", target: wanted{serial: "transport 0"}},
		"host:tport:any":                              {verb: "tport"},
		"host:tport:usb":                              {verb: "tport"},
		"host:tport:local":                            {verb: "tport"},
		"host:tport:serial:x y":                       {verb: "tport", target: wanted{serial: "x y"}},
		"host-usb:get-state":                          {verb: "get-state"},
		"host-local:features":                         {verb: "features"},
		"host-serial:a:get-state":                     {verb: "get-state", target: wanted{serial: "a"}},
		"host-serial:a:b:get-state":                   {verb: "get-state", target: wanted{serial: "a:b"}},
		"host-serial:127.0.0.1:5555:forward:tcp:0;x":  {verb: "forward", rest: "tcp:0;x", target: wanted{serial: "127.0.0.1:5555"}},
		"host-serial:10.0.0.1:5555:killforward:tcp:1": {verb: "killforward", rest: "tcp:1", target: wanted{serial: "10.0.0.1:5555"}},
		"host-serial:other:get-state":                 {verb: "get-state", target: wanted{serial: "other"}},
		"host-serial:usb:1-4:get-devpath":             {verb: "get-devpath", target: wanted{serial: "usb:1-4"}},
		"host-serial:[::1]:5555:get-serialno":         {verb: "get-serialno", target: wanted{serial: "[::1]:5555"}},
		"host-serial:tcp:h:5555:features":             {verb: "features", target: wanted{serial: "tcp:h:5555"}},
		"host-transport-id:3:list-forward":            {verb: "list-forward", target: wanted{id: 3}},
		"host:wait-for-any-device":                    {verb: "wait-for", rest: "any-device"},
		"host-serial:a:wait-for-usb-disconnect":       {verb: "wait-for", rest: "usb-disconnect", target: wanted{serial: "a"}},
		"host:kill":                                   {verb: "kill"},
		"host:connect:h:1":                            {verb: "connect", rest: "h:1"},
		"host:disconnect:":                            {verb: "disconnect"},
		"host:reconnect-offline":                      {verb: "reconnect-offline"},
		"shell,v2,raw:host:kill":                      {verb: "service", rest: "shell,v2,raw:host:kill"},
		"reboot:":                                     {verb: "service", rest: "reboot:"},
		"reconnect":                                   {verb: "service", rest: "reconnect"},
	} {
		if got := parse(text, names); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestC28_AGateAnswersToEveryNameOfItsDeviceAndToNoOther(t *testing.T) {
	t.Parallel()
	g := named()
	for _, t0 := range []struct {
		to wanted
		ok bool
	}{
		{wanted{}, true},
		{wanted{id: 7}, true},
		{wanted{serial: "0123456789ABCDEF"}, true}, // also when another phone of the server has it
		{wanted{serial: "usb:1-2"}, true},
		{wanted{serial: "model:Pixel_9"}, true},
		{wanted{serial: "product:p"}, true},
		{wanted{serial: "device:d"}, true},
		{wanted{id: 8}, false},
		{wanted{serial: "usb:1-3"}, false},
		{wanted{serial: "0123456789"}, false},
		{wanted{serial: "model:"}, false},
	} {
		if err := g.means(t0.to); (err == nil) != t0.ok {
			t.Errorf("%+v: %v, want it accepted = %v", t0.to, err, t0.ok)
		}
	}
	g.lost = true
	if err := g.means(wanted{}); err == nil {
		t.Error("a gate that lost its device still means it")
	}
}

// FuzzRequest reads requests as a gate does. Whatever comes, no other device is ever meant, what would change the real server
// is known as that, and nothing that is about the server is taken for a service of the device.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"host:version", "host:kill", "host:tport:serial:other", "host-serial:other:5555:features", "host-serial:0123456789ABCDEF:forward:tcp:0;tcp:1",
		"host-transport-id:8:get-state", "host:transport-id:7", "shell,v2,TERM=xterm,raw:ls", "reverse:forward:norebind:tcp:1;tcp:2",
		"host-serial:[::1]:5555:wait-for-any-device", "host-usb:features", "host-serial::", "host::", ":", "",
	} {
		f.Add(wire.Block(seed))
	}
	f.Fuzz(func(t *testing.T, stream string) {
		g := named()
		in := strings.NewReader(stream)
		for {
			text, err := wire.ReadBlock(in)
			if err != nil {
				return
			}
			r := parse(text, g.names())
			own := slices.Contains(g.names(), r.target.serial) && r.target.id == 0 || r.target == wanted{id: 7} || r.target == wanted{}
			if err := g.means(r.target); (err == nil) != own {
				t.Errorf("%q means %+v: %v", text, r.target, err)
			}
			if strings.HasPrefix(text, "host:") && (r.verb == "service" || r.verb != "" && !strings.Contains(text, r.verb)) {
				t.Errorf("%q is taken for %+v", text, r)
			}
			if r.verb == "service" && r.rest != text {
				t.Errorf("%q: the service %q is another", text, r.rest)
			}
			if from, to, _, err := splitPorts(r.rest); err == nil && (from == "" || to == "" || len(from)+len(to) >= len(r.rest)) {
				t.Errorf("%q is split into %q and %q", r.rest, from, to)
			}
			if network, address, err := localSocket(r.rest); err == nil && (network == "tcp") != strings.HasPrefix(address, "127.0.0.1:") {
				t.Errorf("%q is at %s %s", r.rest, network, address)
			}
		}
	})
}
