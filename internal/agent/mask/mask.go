// Package mask hides secrets in what leaves the host: an asterisk takes the place of each byte, so that lengths and offsets
// stay true.
//
// It finds a secret byte for byte, whole or one line of it, and as a part of anything longer; and so it finds what the usual
// encodings make of it: JSON's and a URL's escapes, Base64 in both alphabets wherever it begins in what was encoded, hexadecimal
// digits. Of Base64 at most one character at each end stays, which belongs to what is beside the secret too. It does not find
// what else a program may make of it: a digest, a piece, two encodings at once, other upper and lower case. Values and lines of
// less than [MinBytes] are not hidden: they are found in everything.
//
// The time that it takes does not depend on how many secrets there are, as long as they are not found.
//
//	m := mask.New(values...)
//	text = m.Text(text)
//	p = m.Bytes(before, p, after)   // a piece of a stream, with what is around it
//
// A Mask does not change and may be used by any number of goroutines. A nil one hides nothing.
package mask

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// MinBytes is how long a secret is at the least.
const MinBytes = 4

// Mask knows the secrets.
type Mask struct {
	longest int
	known   map[string]bool
	starts  map[[MinBytes]byte][][]byte // the secrets, by how they begin
	first   [256][][]byte               // by their first byte
	last    [256][][]byte               // and by their last
	maybe   [1 << 16]bool               // by a digest of how they begin: whether there is one
}

// New makes the mask of values. It is nil when there is nothing to hide.
func New(values ...string) *Mask {
	m := &Mask{known: map[string]bool{}, starts: map[[MinBytes]byte][][]byte{}}
	for _, value := range values {
		m.add(value)
		for line := range strings.Lines(value) {
			m.add(strings.TrimRight(line, "\r\n"))
		}
	}
	if len(m.known) == 0 {
		return nil
	}
	return m
}

// add takes in a secret and all that is made of it.
func (m *Mask) add(secret string) {
	if len(secret) < MinBytes {
		return
	}
	for _, form := range append(forms(secret), secret) {
		if len(form) < MinBytes || m.known[form] {
			continue
		}
		m.known[form] = true
		m.longest = max(m.longest, len(form))
		p := []byte(form)
		start := [MinBytes]byte(p)
		m.starts[start] = append(m.starts[start], p)
		m.first[p[0]] = append(m.first[p[0]], p)
		m.last[p[len(p)-1]] = append(m.last[p[len(p)-1]], p)
		m.maybe[digest(p)] = true
	}
}

// digest is a number of the first MinBytes of p.
func digest(p []byte) uint16 {
	return uint16(binary.LittleEndian.Uint32(p) * 2654435761 >> 16)
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
	for at := 0; at+MinBytes <= len(whole); at++ {
		if !m.maybe[digest(whole[at:])] {
			continue
		}
		for _, secret := range m.starts[[MinBytes]byte(whole[at:])] {
			if bytes.HasPrefix(whole[at:], secret) {
				hits = append(hits, [2]int{at, at + len(secret)})
			}
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
		for _, s := range m.first[p[len(p)-n]] {
			if n < len(s) && bytes.HasPrefix(s, p[len(p)-n:]) {
				return n
			}
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
		for _, s := range m.last[p[n-1]] {
			if n < len(s) && bytes.HasSuffix(s, p[:n]) {
				hide(p, 0, n)
				return
			}
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
