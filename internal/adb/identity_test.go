package adb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// brief is what the rules are about.
type brief struct {
	Key        string
	Transports []uint64
	Ambiguous  bool
}

func briefly(ids []Identity) []brief {
	var out []brief
	for _, id := range ids {
		b := brief{Key: id.Key, Ambiguous: id.Ambiguous}
		for _, d := range id.Transports {
			b.Transports = append(b.Transports, d.TransportID)
		}
		out = append(out, b)
	}
	return out
}

func properties(serial, boot string) map[string]string {
	return map[string]string{"ro.serialno": serial, "ro.product.model": "Pixel 5", "ro.runtime.firstboot": boot}
}

func usb(id uint64, serial, path, boot string) Sighting {
	return Sighting{Device{TransportID: id, Serial: serial, State: StateDevice, USBPath: path}, properties(serial, boot)}
}

func network(id uint64, address, serial, boot string) Sighting {
	return Sighting{Device{TransportID: id, Serial: address, State: StateDevice}, properties(serial, boot)}
}

func unread(s Sighting, state State) Sighting {
	s.State, s.Properties = state, nil
	return s
}

func saying(s Sighting, name, value string) Sighting {
	s.Properties[name] = value
	return s
}

// coincidence is what a host sees at once, and what it should make of it.
type coincidence struct {
	name string
	seen []Sighting
	want []brief
}

func checkCoincidences(t *testing.T, all []coincidence) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, briefly(Identify(c.seen, nil))); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

const twin = "0123456789ABCDEF"

func TestC28_PhonesWithOneSerialAreKeptApart(t *testing.T) {
	t.Parallel()
	checkCoincidences(t, []coincidence{
		{
			"two on USB",
			[]Sighting{usb(1, twin, "usb:1-1", "100"), usb(2, twin, "usb:1-2", "200")},
			[]brief{{twin + "@usb:1-1", []uint64{1}, false}, {twin + "@usb:1-2", []uint64{2}, false}},
		},
		{
			"two by address",
			[]Sighting{network(1, "10.0.0.1:5555", twin, "100"), network(2, "10.0.0.2:5555", twin, "200")},
			[]brief{{twin + "@10.0.0.1:5555", []uint64{1}, false}, {twin + "@10.0.0.2:5555", []uint64{2}, false}},
		},
		{
			"two on USB that say nothing of themselves",
			[]Sighting{unread(usb(1, twin, "usb:1-1", ""), StateUnauthorized), unread(usb(2, twin, "usb:1-2", ""), StateOffline)},
			[]brief{{twin + "@usb:1-1", []uint64{1}, false}, {twin + "@usb:1-2", []uint64{2}, false}},
		},
		{
			"two on USB without a path cannot be known again",
			[]Sighting{usb(1, twin, "", "100"), usb(2, twin, "", "200")},
			[]brief{{twin + "@nowhere", []uint64{1}, true}, {twin + "@nowhere#2", []uint64{2}, true}},
		},
	})
}

func TestC29_OnePhoneTwiceIsOneDevice(t *testing.T) {
	t.Parallel()
	checkCoincidences(t, []coincidence{
		{
			"USB and Wi-Fi: one, USB preferred",
			[]Sighting{network(1, "10.0.0.1:5555", "R58", "100"), usb(2, "R58", "usb:1-1", "100")},
			[]brief{{"R58", []uint64{2, 1}, false}},
		},
		{
			"USB and mDNS: one",
			[]Sighting{network(1, "adb-R58-vWgJpq._adb-tls-connect._tcp", "R58", ""), usb(2, "R58", "usb:1-1", "")},
			[]brief{{"R58", []uint64{2, 1}, false}},
		},
		{
			"the cable is bad: Wi-Fi preferred",
			[]Sighting{network(1, "10.0.0.1:5555", "R58", "100"), func() Sighting {
				s := usb(2, "R58", "usb:1-1", "100")
				s.State = StateOffline
				return s
			}()},
			[]brief{{"R58", []uint64{1, 2}, false}},
		},
	})
}

func TestC29_WhatIsNotSurelyOnePhoneIsNeverMerged(t *testing.T) {
	t.Parallel()
	checkCoincidences(t, []coincidence{
		{
			"USB and Wi-Fi of different models share a serial: two",
			[]Sighting{saying(network(1, "10.0.0.1:5555", twin, ""), "ro.product.model", "Other"), usb(2, twin, "usb:1-1", "")},
			[]brief{{twin + "@10.0.0.1:5555", []uint64{1}, false}, {twin + "@usb:1-1", []uint64{2}, false}},
		},
		{
			"two on USB, and one of them on Wi-Fi: nobody knows which, so all that could be it wait",
			[]Sighting{usb(1, twin, "usb:1-1", "100"), usb(2, twin, "usb:1-2", "200"), network(3, "10.0.0.1:5555", twin, "200")},
			[]brief{{twin + "@10.0.0.1:5555", []uint64{3}, true}, {twin + "@usb:1-1", []uint64{1}, false}, {twin + "@usb:1-2", []uint64{2}, true}},
		},
		{
			"one phone at two addresses",
			[]Sighting{network(1, "10.0.0.1:5555", "R58", "100"), network(2, "phone.local:5555", "R58", "100")},
			[]brief{{"R58@10.0.0.1:5555", []uint64{1}, true}, {"R58@phone.local:5555", []uint64{2}, true}},
		},
		{
			"emulators share a ro.serialno: never merged, named by their port",
			[]Sighting{
				{Device{TransportID: 1, Serial: "emulator-5554", State: StateDevice}, properties("EMU", "1")},
				{Device{TransportID: 2, Serial: "emulator-5556", State: StateDevice}, properties("EMU", "1")},
				saying(network(3, "10.0.0.9:5555", "EMU", "1"), "ro.kernel.qemu", "1"),
			},
			[]brief{{"10.0.0.9:5555", []uint64{3}, false}, {"emulator-5554", []uint64{1}, false}, {"emulator-5556", []uint64{2}, false}},
		},
		{
			"an emulator by its address too",
			[]Sighting{
				{Device{TransportID: 1, Serial: "emulator-5554", State: StateDevice}, properties("EMU", "1")},
				saying(network(2, "localhost:5555", "EMU", "1"), "ro.kernel.qemu", "1"),
			},
			[]brief{{"emulator-5554", []uint64{1}, false}, {"localhost:5555", []uint64{2}, true}},
		},
		{
			"a ready phone whose properties could not be read",
			[]Sighting{unread(network(1, "10.0.0.1:5555", "R58", ""), StateDevice)},
			[]brief{{"10.0.0.1:5555", []uint64{1}, true}},
		},
		{
			"an unauthorized cable beside a ready Wi-Fi: two until it says who it is",
			[]Sighting{unread(usb(1, "R58", "usb:1-1", ""), StateUnauthorized), network(2, "10.0.0.1:5555", "R58", "100")},
			[]brief{{"R58", []uint64{2}, false}, {"R58@usb:1-1", []uint64{1}, false}},
		},
	})
}

func TestC29_ATwinThatArrivesRenamesNobody(t *testing.T) {
	t.Parallel()
	first, second := usb(1, twin, "usb:1-1", "100"), usb(2, twin, "usb:1-2", "200")
	alone := Identify([]Sighting{first}, nil)
	both := Identify([]Sighting{second, first}, alone)
	left := Identify([]Sighting{second}, both)
	for _, c := range []struct {
		name string
		got  []Identity
		want []brief
	}{
		{"alone", alone, []brief{{twin, []uint64{1}, false}}},
		{"both", both, []brief{{twin, []uint64{1}, false}, {twin + "@usb:1-2", []uint64{2}, false}}},
		{"the second left", left, []brief{{twin + "@usb:1-2", []uint64{2}, false}}},
	} {
		if diff := cmp.Diff(c.want, briefly(c.got)); diff != "" {
			t.Errorf("%s: want (-) got (+):\n%s", c.name, diff)
		}
	}
}

func TestC29_AProvisionalNameGivesWayToThePhonesOwn(t *testing.T) {
	t.Parallel()
	wifi := network(1, "10.0.0.1:5555", "R58", "100")
	before := Identify([]Sighting{unread(wifi, StateUnauthorized)}, nil)
	if !before[0].Provisional || before[0].Key != "10.0.0.1:5555" {
		t.Errorf("before it spoke: %+v, want a provisional key that is its address", before[0])
	}
	after := Identify([]Sighting{wifi}, before)
	if after[0].Provisional || after[0].Key != "R58" {
		t.Errorf("after it spoke: %+v, want the key R58 for good", after[0])
	}
}

func TestC29_IdentitiesAreSoundInAnyOrderAndHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var before []Identity
		known := map[transportKey]string{}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			seen := drawSightings(t)
			got := Identify(seen, before)
			if diff := cmp.Diff(got, Identify(rapid.Permutation(seen).Draw(t, "order"), before)); diff != "" {
				t.Fatalf("the answer depends on the order:\n%s", diff)
			}
			checkSound(t, seen, got, known)
			before = got
		}
	})
}

func checkSound(t *rapid.T, seen []Sighting, got []Identity, known map[transportKey]string) {
	keys, transports := map[string]bool{}, 0
	still := map[transportKey]bool{}
	for _, id := range got {
		if id.Key == "" || keys[id.Key] {
			t.Fatalf("key %q is empty or given twice: %+v", id.Key, got)
		}
		keys[id.Key] = true
		transports += len(id.Transports)
		if len(id.Transports) > 2 || len(id.Transports) == 2 && id.Transports[0].Network() == id.Transports[1].Network() {
			t.Fatalf("merged, and not one USB and one network: %+v", id)
		}
		if len(id.Transports) == 1 && !id.Provisional {
			k := keyOf(id.Transports[0])
			if old := known[k]; old != "" && old != id.Key {
				t.Fatalf("%+v was called %q and is now %q", id.Transports[0], old, id.Key)
			}
			known[k], still[k] = id.Key, true
		}
	}
	for k := range known {
		if !still[k] {
			delete(known, k)
		}
	}
	checkNoPhoneTwice(t, seen, got)
	if transports != len(seen) {
		t.Fatalf("%d transports in, %d out", len(seen), transports)
	}
}

// checkNoPhoneTwice holds the sightings' truth, one phone per boot, against the candidates. An emulator is its port.
func checkNoPhoneTwice(t *rapid.T, seen []Sighting, got []Identity) {
	boots := map[uint64]string{}
	for _, s := range seen {
		boots[s.TransportID] = s.Properties["ro.runtime.firstboot"]
	}
	candidates := map[string]string{}
	for _, id := range got {
		boot := boots[id.Transports[0].TransportID]
		if !id.Ready() || id.Ambiguous || boot == "" {
			continue
		}
		if other, ok := candidates[boot]; ok {
			t.Fatalf("one phone is two candidates, %q and %q: %+v", other, id.Key, got)
		}
		candidates[boot] = id.Key
	}
}

func drawSightings(t *rapid.T) []Sighting {
	all := []Sighting{
		usb(1, twin, "usb:1-1", "100"), usb(2, twin, "usb:1-2", "200"), usb(3, twin, "", "300"), usb(4, "R58", "usb:1-3", "400"),
		network(5, "10.0.0.1:5555", twin, "100"), network(6, "10.0.0.2:5555", twin, "200"), network(7, "10.0.0.3:5555", "R58", "400"),
		{Device{TransportID: 8, Serial: "emulator-5554", State: StateDevice}, properties(twin, "1")},
		usb(9, twin+"@usb:1-1", "usb:1-9", "500"),
	}
	states := rapid.SampledFrom([]State{StateDevice, StateDevice, StateOffline, StateUnauthorized})
	var seen []Sighting
	for _, s := range all {
		if rapid.Bool().Draw(t, "gone") {
			continue
		}
		s.State = states.Draw(t, "state")
		if !s.State.Ready() && rapid.Bool().Draw(t, "unread") {
			s.Properties = nil
		}
		seen = append(seen, s)
	}
	return seen
}
