package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

// request is what is known of a request beside what HTTP says.
type request struct {
	id     string
	caller auth.Identity // set once it is known
	code   string        // of the refusal, "" for none
}

type requestKey struct{}

// requestOf is the request that ctx belongs to; of none, an empty one.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// callerOf is on whose behalf a use case runs.
func callerOf(ctx context.Context) control.Caller {
	r := requestOf(ctx)
	return control.Caller{Actor: r.caller.Actor(), Subject: r.caller.Subject(), RequestID: r.id}
}

// hostOf is the host that calls; only agent calls have one.
func hostOf(ctx context.Context) phonebooth.HostID { return requestOf(ctx).caller.HostID }

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// around is what happens to every request before and after its call: it gets an id and deadlines, its address is checked, and
// one line is logged. A panic becomes a problem.
func (s *Server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		own := &request{id: r.Header.Get(v1.HeaderRequestID)}
		if !requestIDPattern.MatchString(own.id) {
			own.id = auth.NewToken("req_")[:24]
		}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, own))
		answer := &recorder{ResponseWriter: w}
		answer.Header().Set(v1.HeaderRequestID, own.id)
		answer.Header().Set("X-Content-Type-Options", "nosniff")
		answer.Header().Set("Cache-Control", "no-store")
		answer.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		setDeadlines(w, r, began)
		defer func() {
			s.logRequest(r, own, answer, time.Since(began))
		}()
		defer s.recovered(r.Context(), answer)
		if err := checkAddress(r); err != nil {
			if s.opts.Pages != nil && s.opts.Pages.Lost(answer, r) {
				return
			}
			s.refusal(r.Context(), err).write(answer)
			return
		}
		packed := packing(answer, r)
		next.ServeHTTP(packed, r)
		packed.close()
	})
}

// setDeadlines bounds how long a caller may take to send its body and to take its answer. Those that the connection had
// from an earlier request end here. Without a body there is nothing to wait for, and a read deadline would end the request.
func setDeadlines(w http.ResponseWriter, r *http.Request, now time.Time) {
	c := http.NewResponseController(w)
	var read time.Time
	if r.ContentLength != 0 {
		read = now.Add(bodyTimeout)
	}
	_ = c.SetReadDeadline(read)
	_ = c.SetWriteDeadline(now.Add(answerTimeout))
}

// checkAddress refuses what no handler and no database should see: text that is not clean, and paths that are not written
// plainly, which would be redirected.
func checkAddress(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the query of the address cannot be read")
	}
	clean := cleanText(r.URL.Path)
	for name, values := range query {
		clean = clean && cleanText(name)
		for _, value := range values {
			clean = clean && cleanText(value)
		}
	}
	if !clean {
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the address holds a NUL byte or text that is not UTF-8")
	}
	if path.Clean(r.URL.Path) != r.URL.Path {
		if strings.Contains(r.URL.Path, "/artifacts/") {
			return control.BadArtifactName()
		}
		return unknownPath()
	}
	return nil
}

func cleanText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// recovered answers a panic of ours as a problem, or breaks the connection when an answer has begun.
func (s *Server) recovered(ctx context.Context, w *recorder) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler || ctx.Err() != nil && w.status != 0 { // the caller went away
		panic(http.ErrAbortHandler)
	}
	s.log.Error("request panicked", "request_id", requestOf(ctx).id, "cause", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.refusal(ctx, errors.New("panic")).write(w)
}

func (s *Server) logRequest(r *http.Request, own *request, answer *recorder, took time.Duration) {
	s.log.Debug("request", "method", r.Method, "route", routeOf(r.Pattern), "status", answer.status, "bytes", answer.bytes,
		"took", took, "request_id", own.id, "actor", own.caller.Actor(), "code", own.code)
}

// routeOf is the path of a pattern of the mux: identifiers are names in braces there, so no lease id can be in it.
func routeOf(pattern string) string {
	if _, route, ok := strings.Cut(pattern, " "); ok {
		return route
	}
	return "none"
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
