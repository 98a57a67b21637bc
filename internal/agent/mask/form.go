package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
)

// forms are what the usual encodings make of a secret. Some may be the secret itself.
func forms(secret string) []string {
	all := []string{hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	all = append(all, inJSON(secret)...)
	all = append(all, inURL(secret)...)
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, alphabet.EncodeToString([]byte(secret)))
		for before := range 3 {
			all = append(all, inBase64(alphabet, secret, before))
		}
	}
	return all
}

// inBase64 is that part of the encoding of a text which depends on nothing but the secret, when that many bytes, modulo three, are
// before it.
func inBase64(alphabet *base64.Encoding, secret string, before int) string {
	encoded := alphabet.EncodeToString(append(make([]byte, before), secret...))
	from := (8*before + 5) / 6 // a character is six bits
	to := 8 * (before + len(secret)) / 6
	return encoded[from:to]
}

// inJSON are the secret within a string as programs write it: with and without escapes for what is no ASCII, for what HTML knows,
// and for slashes.
func inJSON(secret string) (all []string) {
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	html, err := json.Marshal(secret)
	if err != nil || encoder.Encode(secret) != nil {
		return nil // a string can be written
	}
	for _, text := range []string{strings.TrimSuffix(plain.String(), "\n"), string(html)} {
		text = text[1 : len(text)-1]
		ascii := inASCII(text)
		all = append(all, text, ascii, strings.ReplaceAll(text, "/", `\/`), strings.ReplaceAll(ascii, "/", `\/`))
	}
	return all
}

// inASCII escapes what is not.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// inURL are the secret in a query and in a path, whole or by the segment.
func inURL(secret string) (all []string) {
	query := url.QueryEscape(secret)
	component := strings.ReplaceAll(query, "+", "%20")
	for _, text := range []string{
		query, component, strings.ReplaceAll(component, "%2F", "/"), url.PathEscape(secret), (&url.URL{Path: secret}).EscapedPath(),
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component), // as browsers do
	} {
		all = append(all, text, percent.ReplaceAllStringFunc(text, strings.ToLower))
	}
	return all
}
