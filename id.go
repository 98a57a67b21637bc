package phonebooth

import (
	"crypto/sha256"
	"encoding/base32"
	"log/slog"
	"strings"
)

// Identifiers are opaque, stable and unique for ever: a prefix that names the kind, an underscore, and lower-case letters
// and digits. They are safe in a URL path, a file name and a log line.
type (
	// TaskID names a task: task_...
	TaskID string
	// DeviceID names a device: device_...
	DeviceID string
	// HostID names a host: host_...
	HostID string
)

// LeaseID is the bounded right of one attempt to use one device. Whoever holds it may report for the attempt, so it appears
// in answers to the owning agent only: it hides itself in logs and in formatted text.
type LeaseID string

// LogValue hides the id.
func (LeaseID) LogValue() slog.Value { return slog.StringValue("lease_(hidden)") }

// String hides the id; convert with string(id) where the wire needs it.
func (LeaseID) String() string { return "lease_(hidden)" }

// MarshalText hides the id in JSON and other texts that a whole row may end up in.
func (LeaseID) MarshalText() ([]byte, error) { return []byte("lease_(hidden)"), nil }

// GoString hides the id in %#v too.
func (LeaseID) GoString() string { return `phonebooth.LeaseID("lease_(hidden)")` }

// idEncoding is lower-case base32 without the letters that are mistaken for digits.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// DeviceIDOf is the id of the device that host knows under key. It is derived, not drawn: the same key on the same host is
// the same device after every restart, and the same key on two hosts is two devices (C27).
func DeviceIDOf(host HostID, key string) DeviceID {
	sum := sha256.Sum256([]byte(string(host) + "\x00" + key))
	return DeviceID("device_" + strings.ToLower(idEncoding.EncodeToString(sum[:16])))
}
