package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
)

// registerPages adds what is served beside the API.
func (s *Server) registerPages() {
	if s.opts.Pages == nil {
		return
	}
	for _, pattern := range s.opts.Pages.Patterns() {
		s.mux.Handle(pattern, s.opts.Pages)
	}
}

// identify tells who calls: by the token, or else by a browser's cookie, which is renewed with the answer while it is used.
// What a cookie lets a browser do must come from our own pages: other sites can make a browser send it.
func (s *Server) identify(ctx context.Context, w http.ResponseWriter, r *http.Request) (auth.Identity, error) {
	if _, given := r.Header["Authorization"]; given || s.opts.Cookies == nil {
		return s.tokens.Authenticate(ctx, bearer(r))
	}
	who, renewed, ok := s.opts.Cookies.Identify(r, time.Now())
	if !ok {
		return s.tokens.Authenticate(ctx, "")
	}
	if err := s.crossOrigin.Check(r); err != nil {
		return auth.Identity{}, phonebooth.Errorf(phonebooth.Forbidden, "cross_origin",
			"a browser that is signed in may ask for this from the dashboard's own pages only").Because(err)
	}
	if renewed != nil {
		http.SetCookie(w, renewed)
	}
	return who, nil
}
