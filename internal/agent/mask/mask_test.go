package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
)

func TestC41_ASecretIsHiddenWhereverItStands(t *testing.T) {
	t.Parallel()
	m := mask.New("hunter2", "line one\r\nx\nline three\n", "abc", "2legs", "")
	for in, want := range map[string]string{
		"hunter2":                         "*******",
		"a hunter2, hunter2hunter2.":      "a *******, **************.",
		"hunter2legs":                     "***********", // they overlap
		"hunter hunter3":                  "hunter hunter3",
		"line one\nx\nline three":         "********\nx\n**********",
		"pre line one\r\nx\nline three\n": "pre " + strings.Repeat("*", 23),
		"abc":                             "abc", // too short to be told from anything
		"":                                "",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := mask.New("abc").Text("abc"); got != "abc" {
		t.Errorf("without a secret: %q, want it as it was", got)
	}
}

func TestC41_TheUsualEncodingsOfASecretAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "S3cr\"et\\Val/\u00fc+<x>&%y \U0001F4F1"
	m := mask.New(secret)
	for name, encoded := range map[string]string{
		"JSON as Go writes it":     `S3cr\"et\\Val/ü+\u003cx\u003e\u0026%y 📱`,
		"JSON as Python writes it": `S3cr\"et\\Val/\u00fc+<x>&%y \ud83d\udcf1`,
		"JSON as PHP writes it":    `S3cr\"et\\Val\/\u00fc+<x>&%y \ud83d\udcf1`,
		"JSON of browsers":         `S3cr\"et\\Val/ü+<x>&%y 📱`,
		"a query":                  url.QueryEscape(secret),
		"a query in lower case":    `S3cr%22et%5cVal%2f%c3%bc%2b%3cx%3e%26%25y+%f0%9f%93%b1`,
		"quote of Python":          `S3cr%22et%5CVal/%C3%BC%2B%3Cx%3E%26%25y%20%F0%9F%93%B1`,
		"encodeURIComponent":       `S3cr%22et%5CVal%2F%C3%BC%2B%3Cx%3E%26%25y%20%F0%9F%93%B1`,
		"a path":                   url.PathEscape(secret),
		"Base64":                   base64.StdEncoding.EncodeToString([]byte(secret)),
		"Base64 for URLs":          base64.URLEncoding.EncodeToString([]byte(secret)),
		"hex":                      hex.EncodeToString([]byte(secret)),
		"upper hex":                strings.ToUpper(hex.EncodeToString([]byte(secret))),
	} {
		got := m.Text("a " + encoded + " z")
		if want := "a " + strings.Repeat("*", len(strings.TrimRight(encoded, "="))) + encoded[len(strings.TrimRight(encoded, "=")):] + " z"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestC41_ASecretIsHiddenInBase64OfWhateverIsAroundIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 4, 40).Draw(t, "secret")
		before, after := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "before"), rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "after")
		m := mask.New(string(secret))
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			got := m.Text(alphabet.EncodeToString(slices.Concat(before, secret, after)))
			from, to := (8*len(before)+5)/6, 8*(len(before)+len(secret))/6
			if hidden := got[from:to]; strings.Trim(hidden, "*") != "" {
				t.Fatalf("%q: %q is left of characters %d to %d", got, hidden, from, to)
			}
		}
	})
}

func BenchmarkBytes(b *testing.B) {
	text := []byte(strings.Repeat("2026-12-01 INFO tapped the button at 120,340 and waited for the screen\n", 4000))
	for _, n := range []int{1, 100} {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf("sk-%032x", i*7919))
		}
		m := mask.New(values...)
		b.Run(fmt.Sprintf("%d secrets", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Bytes(nil, text, nil)
			}
		})
	}
}

func TestC41_ASecretIsHiddenHoweverAStreamIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab\n]{4,9}`), 1, 3).Draw(t, "secrets")
		stream := []byte(rapid.StringMatching(`[abc\n]{0,60}`).Draw(t, "stream"))
		m := mask.New(secrets...)
		want := m.Bytes(nil, bytes.Clone(stream), nil)
		var got []byte
		for at := 0; at < len(stream); {
			n := rapid.IntRange(1, len(stream)-at).Draw(t, "piece")
			got = append(got, m.Bytes(stream[:at], bytes.Clone(stream[at:at+n]), stream[at+n:])...)
			at += n
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
		for _, s := range secrets {
			if bytes.Contains(got, []byte(s)) {
				t.Fatalf("%q is still in %q", s, got)
			}
		}
	})
}

func TestC41_TheEndsOfAStreamThatWasCutAreHidden(t *testing.T) {
	t.Parallel()
	m := mask.New("hunter2", "terrible")
	for in, want := range map[string]int{"x hunt": 4, "hunter2": 0, "hunter": 6, "x": 0, "t": 1, "hunte": 5, "": 0} {
		if got := m.Open([]byte(in)); got != want {
			t.Errorf("Open(%q) = %d, want %d", in, got, want)
		}
	}
	for in, want := range map[string]string{"ter2 on": "**** on", "2": "*", "hunter2": "hunter2", "rible": "*****", "x": "x", "": ""} {
		p := []byte(in)
		if m.Rest(p); string(p) != want {
			t.Errorf("Rest(%q) = %q, want %q", in, p, want)
		}
	}
}

func TestC41_ASecretIsHiddenInJSONHoweverItIsSpelt(t *testing.T) {
	t.Parallel()
	m := mask.New(`hun"ter`, "123456")
	for in, want := range map[string]string{
		`{"a":["hun\"ter",{"hun\u0022ter":1}],"n":9123456}`: `{"a":["*******",{"*******":1}],"n":"9******"}`,
		`{"b":1.50,  "a":"x"}`:                              `{"b":1.50,  "a":"x"}`, // untouched
		`{"a":"123456","a":"x"}`:                            `{"a":"x"}`,
		`{"a":"x"} 123456`:                                  `{"a":"x"} ******`,
		`no JSON 123456`:                                    `no JSON ******`,
	} {
		if got := m.JSON(json.RawMessage(in)); string(got) != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
	}
	var none *mask.Mask
	if none.Text("x") != "x" || string(none.JSON([]byte("1"))) != "1" || string(none.Bytes(nil, []byte("y"), nil)) != "y" || none.Open([]byte("z")) != 0 {
		t.Error("a nil mask changed something")
	}
}
