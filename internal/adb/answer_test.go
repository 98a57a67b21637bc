package adb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/adb"
)

func TestALineOfADeviceIsReadAsTheDevice(t *testing.T) {
	t.Parallel()
	for _, d := range []adb.Device{
		{TransportID: 7, Serial: "R3", State: adb.StateDevice},
		{TransportID: 8, Serial: "a serial that is (long)", State: adb.StateOffline, USBPath: "usb:1-4.2"},
		{TransportID: 9, Serial: "127.0.0.1:40001", State: adb.StateDevice, Product: "p", Model: "Pixel_9", Name: "d"},
	} {
		if diff := cmp.Diff([]adb.Device{d}, adb.ParseDevices("List of devices attached\n"+d.Line(true))); diff != "" {
			t.Errorf("%q is read as another device (-want +got):\n%s", d.Line(true), diff)
		}
		if got, want := d.Line(false), d.Serial+"\t"+string(d.State)+"\n"; got != want {
			t.Errorf("the short line is %q, want %q", got, want)
		}
	}
}

func TestABlockIsReadAsItsText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "host:version", strings.Repeat("x", 0xffff)} {
		if got, err := adb.ReadBlock(strings.NewReader(adb.Block(text) + "more")); err != nil || got != text {
			t.Errorf("a block of %d bytes is read as %d bytes, %v", len(text), len(got), err)
		}
	}
	if got, want := adb.FailAnswer("no"), "FAIL0002no"; got != want {
		t.Errorf("FailAnswer = %q, want %q", got, want)
	}
}
