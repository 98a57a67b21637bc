package adb

import (
	"net"
	"strconv"
	"strings"
)

// State is what the adb server says of a transport, word for word. Words that are not in the list
// below are kept as they came.
type State string

// The states that adb servers are known to show. A transport that lacks permissions shows
// a longer text that starts with StateNoPermissions and says what to do.
const (
	StateDevice        State = "device"
	StateOffline       State = "offline"
	StateUnauthorized  State = "unauthorized"
	StateAuthorizing   State = "authorizing"
	StateConnecting    State = "connecting"
	StateBootloader    State = "bootloader"
	StateRecovery      State = "recovery"
	StateRescue        State = "rescue"
	StateSideload      State = "sideload"
	StateHost          State = "host"
	StateDetached      State = "detached"
	StateUnknown       State = "unknown"
	StateNoPermissions State = "no permissions"
)

// Ready reports whether a transport in this state takes commands. Everything but "device" does not.
func (s State) Ready() bool { return s == StateDevice }

// NoPermissions reports whether the server sees the phone and may not open it.
func (s State) NoPermissions() bool { return strings.HasPrefix(string(s), string(StateNoPermissions)) }

func (s State) known() bool {
	switch s {
	case StateDevice, StateOffline, StateUnauthorized, StateAuthorizing, StateConnecting, StateBootloader,
		StateRecovery, StateRescue, StateSideload, StateHost, StateDetached, StateUnknown:
		return true
	}
	return false
}

// Device is one transport of the adb server: one line of `adb devices -l`. A phone that is attached
// twice is two of them; Identify says which belong together.
type Device struct {
	// TransportID names the transport at its server: never zero, never used again before the
	// server ends. It is the only address used, because serials may occur twice.
	TransportID uint64
	// Serial is for people and for ANDROID_SERIAL. Bytes that are no printable text are U+FFFD.
	Serial string
	State  State
	// USBPath is where the phone is plugged in ("usb:1-4.2"), empty for transports without one.
	USBPath string
	// Product, Model and Name are what the phone said when it was attached, Name being adb's
	// "device:" field. All may be empty.
	Product, Model, Name string
}

// Emulator reports whether d is an emulator that the server found by itself ("emulator-5554").
func (d Device) Emulator() bool {
	_, ok := d.emulatorPort()
	return ok
}

func (d Device) emulatorPort() (int, bool) {
	digits, ok := strings.CutPrefix(d.Serial, "emulator-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil
}

// Network reports whether d was attached by address: HOST:PORT or an mDNS instance name.
func (d Device) Network() bool {
	if d.USBPath != "" {
		return false
	}
	if strings.HasPrefix(d.Serial, "adb-") && strings.Contains(d.Serial, "._adb") {
		return true
	}
	host, port, err := net.SplitHostPort(d.Serial)
	if err != nil || host == "" {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
