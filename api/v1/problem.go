package v1

import (
	"net/http"

	"github.com/phonebooth-dev/phonebooth"
)

// ContentTypeProblem is the media type of a [Problem].
const ContentTypeProblem = "application/problem+json"

// Problem is an RFC 9457 problem.
type Problem struct {
	Type   string            `json:"type" doc:"always about:blank: the code tells problems apart"`
	Title  string            `json:"title" doc:"the status in words"`
	Status int               `json:"status"`
	Detail string            `json:"detail" doc:"what was wrong, what is allowed, what to do next"`
	Code   string            `json:"code" doc:"stable, for programs"`
	Extra  map[string]string `json:"extra,omitempty" doc:"what belongs to the code, such as limit, status, reason or pointer"`
}

// statuses are the HTTP statuses of the kinds.
var statuses = map[phonebooth.Kind]int{
	phonebooth.Internal:         http.StatusInternalServerError,
	phonebooth.Malformed:        http.StatusBadRequest,
	phonebooth.Invalid:          http.StatusUnprocessableEntity,
	phonebooth.Unauthenticated:  http.StatusUnauthorized,
	phonebooth.Forbidden:        http.StatusForbidden,
	phonebooth.NotFound:         http.StatusNotFound,
	phonebooth.Conflict:         http.StatusConflict,
	phonebooth.TooLarge:         http.StatusRequestEntityTooLarge,
	phonebooth.Exhausted:        http.StatusTooManyRequests,
	phonebooth.Unavailable:      http.StatusServiceUnavailable,
	phonebooth.MethodNotAllowed: http.StatusMethodNotAllowed,
	phonebooth.Gone:             http.StatusGone,
}

// StatusOf is the HTTP status of kind.
func StatusOf(kind phonebooth.Kind) int { return statuses[kind] }

// KindOf is the kind whose HTTP status is status, or Internal when there is none.
func KindOf(status int) phonebooth.Kind {
	for kind, s := range statuses {
		if s == status {
			return kind
		}
	}
	return phonebooth.Internal
}

// ProblemOf is the wire form of e. Its cause stays behind.
func ProblemOf(e *phonebooth.Error) Problem {
	status := StatusOf(e.Kind)
	return Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: e.Message, Code: e.Code, Extra: e.Detail,
	}
}

// Err is the error that p is the wire form of.
func (p Problem) Err() *phonebooth.Error {
	return &phonebooth.Error{Kind: KindOf(p.Status), Code: p.Code, Message: p.Detail, Detail: p.Extra}
}
