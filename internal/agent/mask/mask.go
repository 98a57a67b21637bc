// Package mask hides secrets in what leaves the host: an asterisk takes the place of each byte, so that lengths and offsets
// stay true.
//
// It finds a secret byte for byte, whole or one line of it, and as a part of anything longer. It does not find what a program
// made of it: upper case, Base64, a digest. Values and lines of less than [MinBytes] are not hidden: they are found in everything.
//
//	m := mask.New(values...)
//	text = m.Text(text)
//	p = m.Bytes(before, p, after)   // a piece of a stream, with what is around it
//
// A Mask does not change and may be used by any number of goroutines. A nil one hides nothing.
package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// MinBytes is how long a secret is at the least.
const MinBytes = 4

// Mask knows the secrets.
type Mask struct {
	secrets [][]byte
	longest int
}

// New makes the mask of values. It is nil when there is nothing to hide.
func New(values ...string) *Mask {
	m := &Mask{}
	for _, value := range values {
		m.add(value)
		for line := range strings.Lines(value) {
			m.add(strings.TrimRight(line, "\r\n"))
		}
	}
	if len(m.secrets) == 0 {
		return nil
	}
	return m
}

func (m *Mask) add(secret string) {
	if len(secret) < MinBytes || slices.ContainsFunc(m.secrets, func(s []byte) bool { return string(s) == secret }) {
		return
	}
	m.secrets = append(m.secrets, []byte(secret))
	m.longest = max(m.longest, len(secret))
}

// Reach is how many bytes before and after a piece of a stream decide whether it holds a part of a secret.
func (m *Mask) Reach() int {
	if m == nil {
		return 0
	}
	return m.longest - 1
}

// Text is s with every secret hidden.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	return string(m.Bytes(nil, []byte(s), nil))
}

// Bytes hides every secret in p, in place, and returns it. before and after are the bytes around p, of which no more than
// Reach are looked at: a secret may begin in one and end in the other.
func (m *Mask) Bytes(before, p, after []byte) []byte {
	if m == nil {
		return p
	}
	before = before[max(len(before)-m.Reach(), 0):]
	after = after[:min(len(after), m.Reach())]
	whole := p
	if len(before)+len(after) > 0 {
		whole = slices.Concat(before, p, after)
	}
	var hits [][2]int // found before anything is hidden: secrets may overlap
	for _, secret := range m.secrets {
		for from := 0; ; {
			at := bytes.Index(whole[from:], secret)
			if at < 0 {
				break
			}
			hits = append(hits, [2]int{from + at, from + at + len(secret)})
			from += at + 1
		}
	}
	for _, hit := range hits {
		hide(p, hit[0]-len(before), hit[1]-len(before))
	}
	return p
}

func hide(p []byte, from, to int) {
	for i := max(from, 0); i < min(to, len(p)); i++ {
		p[i] = '*'
	}
}

// Open is how many of the last bytes of p may be the beginning of a secret whose rest is still to come.
func (m *Mask) Open(p []byte) int {
	if m == nil {
		return 0
	}
	for n := min(m.Reach(), len(p)); n > 0; n-- {
		if slices.ContainsFunc(m.secrets, func(s []byte) bool { return n < len(s) && bytes.HasPrefix(s, p[len(p)-n:]) }) {
			return n
		}
	}
	return 0
}

// Rest hides what may be the end of a secret at the beginning of p, in place: that which was before p is not known any more.
func (m *Mask) Rest(p []byte) {
	if m == nil {
		return
	}
	for n := min(m.Reach(), len(p)); n > 0; n-- {
		if slices.ContainsFunc(m.secrets, func(s []byte) bool { return n < len(s) && bytes.HasSuffix(s, p[:n]) }) {
			hide(p, 0, n)
			return
		}
	}
}

// JSON is a JSON text whose strings, names and numbers hold no secret. It is the same text when they never did; what is no
// JSON comes back as text with every secret hidden.
func (m *Mask) JSON(text json.RawMessage) json.RawMessage {
	if m == nil || len(text) == 0 {
		return text
	}
	if !json.Valid(text) {
		return m.Bytes(nil, slices.Clone(text), nil)
	}
	if !m.within(text) {
		return text
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	hidden, marshalErr := json.Marshal(m.value(value))
	if errors.Join(err, marshalErr) != nil { // it was JSON
		return m.Bytes(nil, slices.Clone(text), nil)
	}
	return hidden
}

// within reports whether a string, a name or a number of JSON holds a secret, also one that a later name of the same spelling
// takes the place of.
func (m *Mask) within(text json.RawMessage) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // its end
		}
		switch token := token.(type) {
		case string:
			if m.Text(token) != token {
				return true
			}
		case json.Number:
			if m.Text(token.String()) != token.String() {
				return true
			}
		}
	}
}

func (m *Mask) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.Text(v)
	case json.Number:
		if text := m.Text(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, element := range v {
			out[m.Text(name)] = m.value(element)
		}
		return out
	}
	return v
}
