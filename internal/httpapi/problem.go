package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// problem is a refusal on its way out.
type problem struct {
	v1.Problem
	kind phonebooth.Kind
}

// refusal turns err into a problem: the only place that does. The cause is noted for the log; the caller is not told.
func (s *Server) refusal(ctx context.Context, err error) *problem {
	var known *phonebooth.Error
	switch {
	case errors.As(err, &known):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		known = phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the request was interrupted; try again").Because(err)
	default:
		known = phonebooth.Errorf(phonebooth.Internal, "internal",
			"something went wrong on our side; the server's log has it under the request id").Because(err)
	}
	r := requestOf(ctx)
	r.code = known.Code
	switch {
	case known.Kind == phonebooth.Internal:
		s.log.Error("request went wrong", "request_id", r.id, "code", known.Code, "err", errors.Unwrap(known))
	case known.Kind == phonebooth.Unavailable && ctx.Err() == nil:
		s.log.Warn("request could not be answered", "request_id", r.id, "code", known.Code, "err", errors.Unwrap(known))
	}
	return &problem{Problem: v1.ProblemOf(known), kind: known.Kind}
}

// Error is the problem's detail.
func (p *problem) Error() string { return p.Detail }

// GetStatus is the HTTP status; the framework asks for it.
func (p *problem) GetStatus() int { return p.Status }

// ContentType names the problem's media type; the framework asks for it.
func (p *problem) ContentType(string) string { return v1.ContentTypeProblem }

// Schema is that of the wire form; the framework asks for it.
func (p *problem) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[v1.Problem](), true, "Problem")
}

// GetHeaders say when to come again, and how to say who one is; the framework asks for them.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.kind {
	case phonebooth.Exhausted:
		h.Set("Retry-After", "5")
	case phonebooth.Unavailable:
		h.Set("Retry-After", "1")
	case phonebooth.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

// write answers with the problem outside of the framework.
func (p *problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", v1.ContentTypeProblem)
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p.Problem) // to a caller that may be gone
}

// installHooks replaces what the framework keeps in package variables, once for the process: its own errors echo rejected
// values, its arrays are nullable, and its field names ignore case.
var installHooks = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		e := frameworkError(status, message, errs)
		return &problem{Problem: v1.ProblemOf(e), kind: e.Kind}
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		e := frameworkError(status, message, errs)
		requestOf(ctx.Context()).code = e.Code
		return &problem{Problem: v1.ProblemOf(e), kind: e.Kind}
	}
})

// frameworkError turns a refusal of the framework into one of ours, without the values that it would show.
func frameworkError(status int, message string, errs []error) *phonebooth.Error {
	switch {
	case status == http.StatusUnprocessableEntity:
		return firstInvalid(errs)
	case status == http.StatusUnsupportedMediaType:
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body must be JSON; send Content-Type: application/json")
	case status >= http.StatusInternalServerError:
		return phonebooth.Errorf(phonebooth.Internal, "internal",
			"something went wrong on our side; the server's log has it under the request id").Because(errors.Join(errs...))
	}
	return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the request cannot be read: %s", message)
}

// firstInvalid is the first violation of the schema, by place, so that the same request always gets the same answer.
func firstInvalid(errs []error) *phonebooth.Error {
	var found []*huma.ErrorDetail
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			found = append(found, d.ErrorDetail())
		}
	}
	if len(found) == 0 {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the request makes no sense")
	}
	first := slices.MinFunc(found, func(a, b *huma.ErrorDetail) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	pointer := pointerOf(first.Location)
	message := first.Message
	if message == "unexpected property" {
		message = "there is no such field; leave it out or correct its name"
	}
	return phonebooth.Errorf(phonebooth.Invalid, "invalid", "%s: %s", cmp.Or(pointer, "the body"), message).With("pointer", pointer)
}

// maxPointerBytes bounds what is repeated of a caller's own field names.
const maxPointerBytes = 200

// pointerOf turns the framework's body.tags[0] into the JSON pointer /tags/0, and query.limit into limit.
func pointerOf(location string) string {
	where, rest, _ := strings.Cut(location, ".")
	if len(rest) > maxPointerBytes {
		rest = strings.ToValidUTF8(rest[:maxPointerBytes], "")
	}
	if where != "body" {
		return rest
	}
	if rest == "" {
		return strings.NewReplacer("body[", "/", "[", "/", "]", "", "body", "").Replace(where)
	}
	return "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(rest)
}
