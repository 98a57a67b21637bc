package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
)

// maxBodyBytes is the most that a request's body may hold.
const maxBodyBytes = 1 << 20 // 1 MiB

// receive reads the whole body, of at most limit bytes, refuses what cannot be carried unharmed, and hands it on. The
// framework would answer before it knows how much there is, and would repair bad text in silence.
func (s *Server) receive(limit int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if ctx.Operation().RequestBody == nil {
			next(ctx)
			return
		}
		r, w := humago.Unwrap(ctx)
		body, err := readBody(w, r, limit)
		if err == nil && ctx.Operation().RequestBody.Content["application/json"] != nil && len(body) > 0 {
			err = checkJSON(body)
		}
		if err != nil {
			s.refusal(ctx.Context(), err).write(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next(ctx)
	}
}

// readBody reads a body of at most limit bytes. Its deadline ends with it: a call that waits afterwards must not look as if
// its caller had gone away.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		// Callers that send on read no answer before they are done: what is a little too large is taken and thrown away.
		_, _ = io.CopyN(io.Discard, r.Body, 4*limit)
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body did not arrive in time").Because(err)
	case err != nil:
		return nil, phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body broke off").Because(err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

func tooLarge(limit int64) *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.TooLarge, "too_large", "the body is larger than %d bytes", limit).
		With("limit", strconv.FormatInt(limit, 10))
}

// checkJSON refuses what is not JSON, text that is not UTF-8, and NUL (C40).
func checkJSON(body []byte) error {
	if !utf8.Valid(body) || loneSurrogate(body) {
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body is not valid UTF-8")
	}
	var syntax *json.SyntaxError
	var value any
	if err := json.Unmarshal(body, &value); errors.As(err, &syntax) {
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body is not JSON; the mistake is at byte %d", syntax.Offset)
	} else if err != nil {
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body is not JSON")
	}
	if bytes.Contains(body, []byte(`\u0000`)) {
		if pointer, found := findNUL(value, ""); found {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the text holds a NUL byte").With("pointer", pointer)
		}
	}
	return nil
}

// findNUL looks for a NUL in the text of a decoded value; a name that holds one is shown by its parent.
func findNUL(value any, pointer string) (string, bool) {
	switch v := value.(type) {
	case string:
		return pointer, !cleanText(v)
	case []any:
		for i, item := range v {
			if at, found := findNUL(item, pointer+"/"+strconv.Itoa(i)); found {
				return at, true
			}
		}
	case map[string]any:
		for name, item := range v {
			if !cleanText(name) {
				return pointer, true
			}
			if at, found := findNUL(item, pointer+"/"+name); found {
				return at, true
			}
		}
	}
	return "", false
}

// loneSurrogate reports whether JSON text escapes half of a character: the decoder would replace it in silence.
func loneSurrogate(body []byte) bool {
	pending := false // a high half was read, its low half must follow at once
	for i := 0; i < len(body); i++ {
		half := 0
		if body[i] == '\\' && i+1 < len(body) {
			if body[i+1] == 'u' && i+6 <= len(body) {
				code, err := strconv.ParseUint(string(body[i+2:i+6]), 16, 16)
				if err == nil && code >= 0xd800 && code < 0xe000 {
					half = int(code)
				}
				i += 4
			}
			i++
		}
		low := half >= 0xdc00
		if pending != low {
			return true
		}
		pending = half != 0 && !low
	}
	return pending
}
