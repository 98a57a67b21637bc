package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// shown is what a terminal gets of text, however it is cut.
func shown(t *testing.T, text string) string {
	t.Helper()
	var whole, bytewise strings.Builder
	w := &tame{w: &whole}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	w.close()
	one := &tame{w: &bytewise}
	for i := range len(text) {
		if _, err := one.Write([]byte{text[i]}); err != nil {
			t.Fatal(err)
		}
	}
	one.close()
	if whole.String() != bytewise.String() {
		t.Errorf("%q at once is %q, byte by byte %q", text, whole.String(), bytewise.String())
	}
	return whole.String()
}

func TestATerminalGetsLinesAndColoursOfALogAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\r\nnaïve 日本 🎉\n":             "plain\ttext\r\nnaïve 日本 🎉\n",
		"\x1b[1;31mred\x1b[0m":                    "\x1b[1;31mred\x1b[0m",
		"\x1b[38:2:1:2:3mred":                     "\x1b[38:2:1:2:3mred\x1b[0m",
		"\x1b[2J\x1b[H\x1b[?1049hgone":            "gone",
		"\x1b]0;title\x07a\x1b]52;c;eA==\x1b\\b":  "ab",
		"\x1bPq...\x1b\\a\x1b(Bb\x1bcc":           "abc",
		"\x1b]8;;http://x\nnext":                  "\nnext",
		"\x1b[" + strings.Repeat("1;", 99) + "ma": "a",
		"\x1b[>4;1ma":                             "a",
		"\x1b[3\na":                               "\na",
		"bell\x07 back\x08 del\x7f":               "bell\ufffd back\ufffd del\ufffd",
		"\u202eevil\u2066x\u0085":                 "\ufffdevil\ufffdx\ufffd",
		"\xff\xc3x\xe2\x82":                       "\ufffd\ufffdx",
	} {
		if got := shown(t, text); got != want {
			t.Errorf("%q shows %q, want %q", text, got, want)
		}
	}
}

func FuzzTame(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;x\x07\xe2\x80\xaec")
	f.Fuzz(func(t *testing.T, text string) {
		got := shown(t, text)
		if !utf8.ValidString(got) {
			t.Errorf("%q shows %q", text, got)
		}
		for i, r := range got {
			if r == 0x1b && !strings.HasPrefix(got[i:], "\x1b[") || r != 0x1b && r != '\n' && r != '\r' && r != '\t' && steers(r) {
				t.Errorf("%q shows %q", text, got)
			}
		}
	})
}
