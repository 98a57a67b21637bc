package mcp

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPiecesOfALogJoinToAllOfItAndNeverCutACharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := []byte(rapid.StringOf(rapid.RuneFrom([]rune("aé漢📱\n\x1b\r\u202e"))).Draw(t, "log"))
		chunk := rapid.IntRange(1, 7).Draw(t, "chunk")
		room := rapid.IntRange(4, 16).Draw(t, "room")
		var all strings.Builder
		next, more := int64(0), true
		for more {
			p := &piece{room: room, next: next}
			for at := int(next); at < len(log); at += chunk {
				if p.data(int64(at), log[at:min(at+chunk, len(log))]) {
					break
				}
			}
			var text string
			begin := next
			text, next, more = p.end(true)
			if len(text) > room || !utf8.ValidString(text) || more && next == begin {
				t.Fatalf("the piece from %d to %d is %q, more %v; room %d", begin, next, text, more, room)
			}
			all.WriteString(text)
		}
		if want := clean(string(log)); all.String() != want || next != int64(len(log)) {
			t.Fatalf("the pieces are %q up to %d, want %q", all.String(), next, want)
		}
	})
}

func TestACharacterThatIsStillBeingWrittenWaitsForTheNextCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		closed bool
		text   string
		next   int64
	}{{false, "a", 1}, {true, "a\ufffd", 3}} {
		p := &piece{room: 100}
		p.data(0, []byte("a\xe6\xbc"))
		if text, next, more := p.end(c.closed); text != c.text || next != c.next || more {
			t.Errorf("closed %v: %q up to %d, more %v; want %+v", c.closed, text, next, more, c)
		}
	}
}

func TestASearchIsBoundedInTextAndInWhatItLooksThrough(t *testing.T) {
	t.Parallel()
	find := func(log []byte, from int64, room int) (string, int64, bool) {
		s := &search{piece: piece{room: room, next: from}, wanted: []byte("needle"), start: from, began: from}
		for at := from; at < int64(len(log)); at += 1000 {
			if s.data(at, log[at:min(at+1000, int64(len(log)))]) {
				break
			}
		}
		return s.end(true)
	}
	text, next, more := find([]byte("hay\nA Needle\nhay\nneedle two\nneedle three"), 0, 15)
	if text != "A Needle\n" || next != 17 || !more {
		t.Errorf("the first page is %q up to %d, more %v", text, next, more)
	}
	text, next, more = find([]byte("hay\nA Needle\nhay\nneedle two\nneedle three"), next, 100)
	if text != "needle two\nneedle three\n" || next != 40 || more {
		t.Errorf("the second page is %q up to %d, more %v", text, next, more)
	}
	if text, _, _ = find(append(bytes.Repeat([]byte("needle "), 100_000), '\n'), 0, 1000); len(text) > 1000 || len(text) < 990 {
		t.Errorf("of a very long line %d bytes come, want about 1000", len(text))
	}
	if text, next, more = find(bytes.Repeat([]byte("hay\n"), 2<<20), 0, 1000); text != "" || next < maxSearch || next > maxSearch+1000 || !more {
		t.Errorf("a long log without it: %q up to %d, more %v", text, next, more)
	}
}

func TestTheTailOfALogIsBoundedText(t *testing.T) {
	t.Parallel()
	last := &tail{room: 10}
	last.data(0, []byte(strings.Repeat("漢", 100)))
	last.data(300, []byte("\x1b\x1b"))
	if text, next, more := last.end(true); text != "漢\ufffd\ufffd" || next != 302 || more {
		t.Errorf("the tail is %q up to %d, more %v", text, next, more)
	}
}
