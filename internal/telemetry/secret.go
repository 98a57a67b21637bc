package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that must not be seen: a token, a password. Printed by fmt with any
// verb, logged by slog or marshalled as JSON or text it is "[hidden]"; Reveal is the
// one way to it. The zero value is the empty text.
//
// It is not a string type, although that would be shorter: fmt prints an unexported
// field, and JSON the key of a map, by its kind, without asking its methods.
type Secret struct{ text *string }

const hidden = "[hidden]"

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. The caller sends it where it belongs and nowhere else.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format prints "[hidden]" whatever the verb, also %#v, %q, %x and %d.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String is "[hidden]".
func (Secret) String() string { return hidden }

// LogValue is "[hidden]".
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText is "[hidden]", also for JSON and for keys of maps.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
