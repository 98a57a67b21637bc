package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
)

// methods are those that some call of the API has.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodPost, http.MethodPut}

// notFound answers what no call answers: there is no such path, or it has no such method.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range methods {
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, pattern := s.mux.Handler(probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		if s.opts.Pages != nil && s.opts.Pages.Lost(w, r) {
			return
		}
		s.refusal(r.Context(), unknownPath()).write(w)
		return
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	s.refusal(r.Context(), phonebooth.Errorf(phonebooth.MethodNotAllowed, "method_not_allowed",
		"this path does not have the method; it has %s", list).With("allow", list)).write(w)
}

func unknownPath() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.NotFound, "path_unknown", "there is no such path; see /openapi.json for those there are")
}
