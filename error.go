package phonebooth

import (
	"errors"
	"fmt"
	"maps"
)

// Kind is the broad sort of an [Error]; it decides the HTTP status and whether a repeat can help.
type Kind int

// The kinds of refusal.
const (
	Internal         Kind = iota // our fault; the message says nothing of the inside
	Malformed                    // the request cannot be read
	Invalid                      // the request can be read and makes no sense
	Unauthenticated              // who are you?
	Forbidden                    // not yours to do
	NotFound                     // there is no such thing
	Conflict                     // the state of things forbids it
	TooLarge                     // over a size limit
	Exhausted                    // over a number limit; later it may fit
	Unavailable                  // cannot be answered now; repeat
	MethodNotAllowed             // the path exists, the method does not
	Gone                         // it was there, and was removed as it was to be
)

// Error is the one error type that crosses package borders. Code is stable and for programs; Message is for people, names
// what was wrong, what is allowed and what to do next, and never holds a secret or a rejected value. Detail holds what
// belongs to the code, such as limit for queue_full or status for task_ended. The cause is for the log only.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Detail  map[string]string
	cause   error
}

// Errorf makes an Error with a message for people. A %w argument becomes the cause.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// With returns a copy of e that carries one more detail.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Detail = maps.Clone(e.Detail)
	if c.Detail == nil {
		c.Detail = map[string]string{}
	}
	c.Detail[key] = value
	return &c
}

// Because returns a copy of e whose cause is err: for the log, never for the caller.
func (e *Error) Because(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error with the same code, so that errors.Is works with a code-only value.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf is the code of err, or "internal" when no Error is in its chain, or "" for nil.
func CodeOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return "internal"
}
