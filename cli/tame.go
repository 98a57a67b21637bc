package cli

import (
	"io"
	"unicode/utf8"
)

// tame shows somebody else's text at a terminal: its lines and its colours. What else would steer the terminal, or turn text
// around, does not pass.
type tame struct {
	w io.Writer

	state    tameState
	held     []byte // of a sequence or a character that has begun
	coloured bool   // a colour was set and not reset
}

type tameState int

const (
	inText    tameState = iota
	inEscape            // behind ESC
	inControl           // behind ESC [
	inString            // a title, a clipboard's content and the like, to be dropped
	inStringEscape
)

// maxControl is the longest sequence that may pass.
const maxControl = 64

// Write takes in p. What has begun and has no end yet is held back.
func (t *tame) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		out = t.take(out, b)
	}
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// close sets the colours back.
func (t *tame) close() {
	if t.coloured {
		_, _ = io.WriteString(t.w, "\x1b[0m")
		t.coloured = false
	}
}

func (t *tame) take(out []byte, b byte) []byte {
	switch t.state {
	case inText:
		return t.text(out, b)
	case inEscape:
		switch {
		case b == '[':
			t.state, t.held = inControl, t.held[:0]
		case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
			t.state = inString
		case b >= 0x20 && b <= 0x2f: // more of it comes
		default:
			t.state = inText
		}
	case inControl:
		return t.control(out, b)
	case inString:
		switch b {
		case 0x07:
			t.state = inText
		case 0x1b:
			t.state = inStringEscape
		case '\n': // one without an end must not take the rest of the log with it
			t.state = inText
			return append(out, b)
		}
	case inStringEscape:
		t.state = inString
		if b == '\\' {
			t.state = inText
		}
	}
	return out
}

// text takes in a byte of what is to be shown.
func (t *tame) text(out []byte, b byte) []byte {
	if len(t.held) > 0 {
		if b >= 0x80 && b < 0xc0 {
			if t.held = append(t.held, b); !utf8.FullRune(t.held) {
				return out
			}
			r, size := utf8.DecodeRune(t.held)
			whole := size == len(t.held) // else it is not valid
			t.held = t.held[:0]
			if !whole || steers(r) {
				r = utf8.RuneError
			}
			return utf8.AppendRune(out, r)
		}
		t.held = t.held[:0]
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	switch {
	case b == 0x1b:
		t.state = inEscape
	case b >= 0xc0:
		t.held = append(t.held, b)
		if utf8.FullRune(t.held) { // it begins nothing
			t.held = t.held[:0]
			out = utf8.AppendRune(out, utf8.RuneError)
		}
	case b == '\n' || b == '\t' || b == '\r' || b >= 0x20 && b < 0x7f:
		out = append(out, b)
	default:
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

// control takes in a byte of a sequence that only passes when it sets colours.
func (t *tame) control(out []byte, b byte) []byte {
	switch {
	case b < 0x20 || b > 0x7e:
		t.state, t.held = inText, t.held[:0]
		return t.text(out, b)
	case b < 0x40:
		if len(t.held) <= maxControl {
			t.held = append(t.held, b)
		}
		return out
	}
	if b == 'm' && len(t.held) <= maxControl && isColour(t.held) {
		out = append(append(append(out, "\x1b["...), t.held...), b)
		t.coloured = string(t.held) != "" && string(t.held) != "0"
	}
	t.state, t.held = inText, t.held[:0]
	return out
}

func isColour(parameters []byte) bool {
	for _, b := range parameters {
		if (b < '0' || b > '9') && b != ';' && b != ':' {
			return false
		}
	}
	return true
}
