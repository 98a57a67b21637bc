package adb

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
)

// Sighting is a transport and what its phone says of itself.
type Sighting struct {
	Device
	// Properties is what Client.Properties last read from this transport; keep it while the transport is
	// listed, also when its state changes. Nil means never read, which an unauthorized phone's are.
	Properties map[string]string
}

// Identity is one phone as far as its host can tell.
type Identity struct {
	// Key names the phone on its host: the same after it was replugged, and never that of two.
	// Two hosts may both have an "emulator-5554": they are two phones.
	Key string
	// Provisional says that the phone has not said its own name yet (an unauthorized one has not): Key
	// may be another one once it has.
	Provisional bool
	// Transports are the ways to it, the preferred one first: a ready one before others, then USB.
	Transports []Device
	// Ambiguous says that this may be the same phone as another identity, or that it cannot be known
	// again. Such a phone is no candidate for a task: two drivers could meet on it.
	Ambiguous bool
	// Why says in a few words what makes it ambiguous; empty otherwise.
	Why string
}

// Ready reports whether the preferred transport takes commands.
func (id Identity) Ready() bool { return id.Transports[0].State.Ready() }

// Identify says which of the sightings are one phone. It is pure. before is its own last answer, nil at first:
// a transport that is still listed keeps its key, so a twin that arrives does not rename a phone in use.
//
// Exactly one USB and one network transport that show the same ro.serialno, no emulator's, and the same
// model are one phone. In any other coincidence each stays apart: under the plain serial number if it came
// first, else with its USB path or its address added. What is apart but could be the same phone is ambiguous.
// Phones on two USB paths are two; anything else is told apart by model, or by the instant of its last boot.
//
// The order of the answer is that of the keys.
func Identify(seen []Sighting, before []Identity) []Identity {
	named := map[transportKey]string{}
	for _, id := range before {
		for _, d := range id.Transports {
			if !id.Provisional {
				named[keyOf(d)] = id.Key
			}
		}
	}
	m := merger{held: map[transportKey]string{}, owed: map[string]bool{}, used: map[string]bool{}}
	groups := map[string][]Sighting{}
	for _, s := range seen {
		groups[s.base()] = append(groups[s.base()], s)
		if key := named[keyOf(s.Device)]; key != "" {
			m.held[keyOf(s.Device)] = key
			m.owed[key] = true
		}
	}
	var all []Identity
	for _, base := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, m.group(base, groups[base])...)
	}
	markEmulatorAliases(all)
	slices.SortFunc(all, func(a, b Identity) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// transportKey recognises a transport between two lists of one server, and does not take another server's for it.
type transportKey struct {
	id              uint64
	serial, usbPath string
}

func keyOf(d Device) transportKey { return transportKey{d.TransportID, d.Serial, d.USBPath} }

type merger struct {
	held map[transportKey]string // keys that transports had before
	owed map[string]bool         // the keys in held
	used map[string]bool         // keys given in this answer
}

// group names the sightings that share one base.
func (m merger) group(base string, members []Sighting) []Identity {
	slices.SortFunc(members, comparePreference)
	if len(members) == 2 && samePhone(members[0], members[1]) {
		return []Identity{{Key: m.mergedKey(base, members), Transports: []Device{members[0].Device, members[1].Device}}}
	}
	ids := make([]Identity, len(members))
	said := 0
	for i, s := range members {
		why := doubt(s, members)
		ids[i] = Identity{Provisional: s.Properties == nil, Transports: []Device{s.Device}, Ambiguous: why != "", Why: why}
		if held := m.held[keyOf(s.Device)]; held != "" && !m.used[held] {
			ids[i].Key = held
			m.used[held] = true
		}
		if s.Properties != nil {
			said++
		}
	}
	for i, s := range members {
		if ids[i].Key == "" {
			// The plain name is for a transport that alone says it: of two that came together neither is first.
			ids[i].Key = m.newKey(base, s, len(members) == 1 || said == 1 && s.Properties != nil)
		}
	}
	return ids
}

// mergedKey prefers the plain name, then what the preferred transport was called before.
func (m merger) mergedKey(base string, members []Sighting) string {
	key := base
	for _, s := range slices.Backward(members) {
		if held := m.held[keyOf(s.Device)]; held != "" {
			key = held
		}
	}
	if m.owed[base] {
		key = base
	}
	m.used[key] = true
	return key
}

// newKey is base, or base with what tells s apart.
func (m merger) newKey(base string, s Sighting, plain bool) string {
	key := base
	if !plain {
		key += "@" + s.place()
	}
	for n := 2; m.used[key] || m.owed[key]; n++ {
		key = base + "@" + s.place() + "#" + strconv.Itoa(n)
	}
	m.used[key] = true
	return key
}

// base is what s is called when nothing else claims the name.
func (s Sighting) base() string {
	if serial := s.Properties["ro.serialno"]; serial != "" && !s.emulated() {
		return printable(serial)
	}
	return s.Serial
}

// place is where s is attached.
func (s Sighting) place() string {
	switch {
	case s.USBPath != "":
		return s.USBPath
	case s.Network():
		return s.Serial
	}
	return "nowhere"
}

func (s Sighting) emulated() bool {
	return s.Emulator() || s.Properties["ro.kernel.qemu"] == "1" || s.Properties["ro.boot.qemu"] == "1"
}

func (s Sighting) usb() bool { return !s.Network() && !s.emulated() }

func comparePreference(a, b Sighting) int {
	return cmp.Or(
		compareBool(a.State.Ready(), b.State.Ready()),
		compareBool(a.usb(), b.usb()),
		cmp.Compare(a.place(), b.place()),
		cmp.Compare(a.TransportID, b.TransportID),
	)
}

// compareBool puts true first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// samePhone is the one case in which two transports are merged.
func samePhone(a, b Sighting) bool {
	return a.usb() != b.usb() && a.Network() != b.Network() && !a.emulated() && !b.emulated() &&
		a.Properties["ro.serialno"] != "" && a.Properties["ro.serialno"] == b.Properties["ro.serialno"] &&
		!differ(a, b, "ro.product.manufacturer", "ro.product.model", "ro.product.device")
}

// doubt says why s may not be given to a task, if so.
func doubt(s Sighting, group []Sighting) string {
	if s.State.Ready() && s.Properties == nil {
		return "its properties were not read"
	}
	for _, other := range group {
		if keyOf(other.Device) == keyOf(s.Device) || !other.State.Ready() || !s.State.Ready() {
			continue
		}
		if s.usb() && other.usb() {
			if s.USBPath == "" || s.USBPath == other.USBPath {
				return "another phone on USB has the same serial number, and the USB path is not known"
			}
			continue
		}
		if !differ(s, other, "ro.product.manufacturer", "ro.product.model", "ro.product.device", "ro.runtime.firstboot") {
			return "may be the same phone as " + other.Serial + " (" + other.place() + ")"
		}
	}
	return ""
}

// differ reports whether both say one of the names and not the same of it.
func differ(a, b Sighting, names ...string) bool {
	for _, name := range names {
		x, y := a.Properties[name], b.Properties[name]
		if x != "" && y != "" && x != y {
			return true
		}
	}
	return false
}

// markEmulatorAliases finds emulators that are attached a second time by address: emulator-N listens for adb on
// port N+1 of this machine.
func markEmulatorAliases(all []Identity) {
	ports := map[int]string{}
	for _, id := range all {
		if port, ok := id.Transports[0].emulatorPort(); ok {
			ports[port+1] = id.Transports[0].Serial
		}
	}
	for i, id := range all {
		host, port, err := net.SplitHostPort(id.Transports[0].Serial)
		if err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
			continue
		}
		n, err := strconv.Atoi(port)
		if serial, ok := ports[n]; err == nil && ok {
			all[i].Ambiguous, all[i].Why = true, "is "+serial+" by its address"
		}
	}
}
