package adb

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// listed is a line as a server formats it.
func listed(serial, state, fields string, id uint64) string {
	return fmt.Sprintf("%-22s %s%s transport_id:%d\n", serial, state, fields, id)
}

func TestC30_SerialsAndFieldsAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	const fields = " usb:1-4.2 product:redfin model:Pixel_5 device:redfin"
	known := Device{TransportID: 7, State: StateDevice, USBPath: "usb:1-4.2", Product: "redfin", Model: "Pixel_5", Name: "redfin"}
	with := func(d Device, change func(*Device)) []Device { change(&d); return []Device{d} }
	for _, c := range []struct {
		name, line string
		want       []Device
	}{
		{"plain", listed("R58M123", "device", fields, 7), with(known, func(d *Device) { d.Serial = "R58M123" })},
		{"spaces", listed("my phone 1", "device", fields, 7), with(known, func(d *Device) { d.Serial = "my phone 1" })},
		{"a state word inside", listed("old device x", "device", fields, 7), with(known, func(d *Device) { d.Serial = "old device x" })},
		{"brackets", listed("[ab] (c) {d}", "device", fields, 7), with(known, func(d *Device) { d.Serial = "[ab] (c) {d}" })},
		{"no serial", listed("(no serial number)", "device", fields, 7), with(known, func(d *Device) { d.Serial = "(no serial number)" })},
		{"non-ASCII", listed("Käfer电话📱", "device", fields, 7), with(known, func(d *Device) { d.Serial = "Käfer电话📱" })},
		{"looks like a field", listed("model:x", "device", fields, 7), with(known, func(d *Device) { d.Serial = "model:x" })},
		{
			"long", listed("adb-0123456789ABCDEF-vWgJpq._adb-tls-connect._tcp", "device", fields, 7),
			with(known, func(d *Device) { d.Serial = "adb-0123456789ABCDEF-vWgJpq._adb-tls-connect._tcp" }),
		},
		{
			"long with spaces", listed("a very long serial with spaces in it", "offline", "", 7),
			[]Device{{TransportID: 7, Serial: "a very long serial with spaces in it", State: StateOffline}},
		},
		{"bytes that are no text", listed("a\xffb\x07c", "device", fields, 7), with(known, func(d *Device) { d.Serial = "a\uFFFDb\uFFFDc" })},
		{
			"unknown fields", listed("R1", "device", " usb:1-4.2 speed:480 product:redfin model:Pixel_5 color:b:w device:redfin", 7),
			with(known, func(d *Device) { d.Serial = "R1" }),
		},
		{
			"a field behind the id", "R1                     device usb:1-4.2 product:redfin model:Pixel_5 device:redfin transport_id:7 max_speed:480\n",
			with(known, func(d *Device) { d.Serial = "R1" }),
		},
		{
			"a value with spaces", listed("R1", "device", " product:my red fin model:Pixel_5 device:x y", 7),
			[]Device{{TransportID: 7, Serial: "R1", State: StateDevice, Product: "my red fin", Model: "Pixel_5", Name: "x y"}},
		},
		{
			"carriage return", strings.ReplaceAll(listed("R1", "device", "", 7), "\n", "\r\n"),
			[]Device{{TransportID: 7, Serial: "R1", State: StateDevice}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, ParseDevices(c.line)); diff != "" {
				t.Errorf("ParseDevices(%q), want (-) got (+):\n%s", c.line, diff)
			}
		})
	}
}

func TestC30_NoPhantomDevices(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"",
		"\n\n",
		"List of devices attached",
		"* daemon not running; starting now at tcp:5037",
		"* daemon started successfully",
		"adb server version (36) doesn't match this client (41); killing...",
		"error: device offline",
		"- waiting for device -",
		"R58M123                device",
		"R58M123\tdevice",
		"R58M123                device usb:1-1 product:x transport_id:",
		"R58M123                device usb:1-1 product:x transport_id:0",
		"R58M123                device usb:1-1 product:x transport_id:99999999999999999999999",
		"R58M123                device usb:1-1 product:x transport_id:-4",
		" transport_id:4",
		"device transport_id:4",
		"warning: transport_id:4 has been seen twice",
	} {
		if got := ParseDevices(line); len(got) > 0 {
			t.Errorf("ParseDevices(%q) = %+v, want none", line, got)
		}
	}
}

func TestC31_EveryStateIsShownAsItIs(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		"unauthorized", "authorizing", "offline", "connecting", "recovery", "rescue", "sideload", "bootloader", "host", "detached", "unknown",
		"no permissions; see [http://developer.android.com/tools/device.html]",
		"no permissions (user in plugdev group; are your udev rules wrong?); see [http://developer.android.com/tools/device.html]",
		"no permissions (missing udev rules? user is in the plugdev group)",
		"levitating", "being repaired",
	} {
		for _, serial := range []string{"R58M123", "????????????", "my phone"} {
			line := listed(serial, state, " usb:3-1", 12)
			want := []Device{{TransportID: 12, Serial: serial, State: State(state), USBPath: "usb:3-1"}}
			got := ParseDevices(line)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ParseDevices(%q), want (-) got (+):\n%s", line, diff)
				continue
			}
			if got[0].State.Ready() {
				t.Errorf("state %q takes commands, want not", state)
			}
			if got, want := got[0].State.NoPermissions(), strings.HasPrefix(state, "no perm"); got != want {
				t.Errorf("state %q: NoPermissions = %v, want %v", state, got, want)
			}
		}
	}
}

func TestC30_AnySerialComesThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		serial := rapid.StringMatching(`[!-~äß电📱]([ -~äß电📱]{0,18}[!-~äß电📱])?`).
			Filter(func(s string) bool { return len(s) < serialColumn }).Draw(t, "serial")
		state := rapid.SampledFrom([]State{StateDevice, StateOffline, StateUnauthorized, StateRecovery}).Draw(t, "state")
		fields := rapid.SampledFrom([]string{"", " usb:1-1", " product:a model:b device:c", " usb:1 new:thing"}).Draw(t, "fields")
		line := listed(serial, string(state), fields, 3)
		got := ParseDevices("List of devices attached\n" + line)
		if len(got) != 1 || got[0].Serial != serial || got[0].State != state {
			t.Fatalf("ParseDevices(%q) = %+v, want serial %q in state %s", line, got, serial, state)
		}
	})
}

func FuzzParseDevices(f *testing.F) {
	seed, err := os.ReadFile("testdata/devices.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(seed))
	for line := range strings.Lines(string(seed)) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, list string) {
		devices := ParseDevices(list)
		if got, most := len(devices), strings.Count(list, transportField); got > most {
			t.Errorf("%d devices from %d transport ids", got, most)
		}
		for _, d := range devices {
			if d.TransportID == 0 || d.Serial == "" || d.State == "" {
				t.Errorf("a device without id, serial or state: %+v", d)
			}
			for _, s := range []string{d.Serial, string(d.State), d.USBPath, d.Product, d.Model, d.Name} {
				if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\n\r\x1b") {
					t.Errorf("%q is no printable text", s)
				}
			}
		}
	})
}

func FuzzProperties(f *testing.F) {
	for _, seed := range []string{
		"[ro.serialno]: [PHONE1]\n[sys.boot_completed]: [1]\n", "[a]: [one\ntwo]\n[b]: []\n", "* daemon started *\n[x]: [y]", "[a]: [open\n[b]: [c]\n",
		"[a\x1b]: [\xff]\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		properties := parseProperties(text)
		if got, most := len(properties), strings.Count(text, "]: ["); got > most {
			t.Errorf("%d properties from %d", got, most)
		}
		for name := range properties {
			if !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\n\r\x1b") {
				t.Errorf("%q is no printable name", name)
			}
		}
	})
}

// FuzzTrackedList reads what a server sends to those who track devices: lists, each behind its length.
func FuzzTrackedList(f *testing.F) {
	for _, seed := range []string{"0000", "0010emulator-5554\td\n", "fffff", "00zz", "-001x", "+00a0123456789", "0004ab"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := bytes.NewReader(sent)
		for {
			list, err := ReadBlock(r)
			if err != nil {
				return
			}
			if len(list) > 0xffff {
				t.Errorf("a list of %d bytes, want at most what four digits say", len(list))
			}
			ParseDevices(list)
		}
	})
}
