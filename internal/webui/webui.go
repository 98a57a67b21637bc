package webui

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// SignIn knows browsers by a cookie: [auth.SignIns].
type SignIn interface {
	SignIn(ctx context.Context, r *http.Request, token string, now time.Time) (*http.Cookie, error)
	SignOut(r *http.Request, now time.Time) *http.Cookie
}

// UI is the dashboard.
type UI struct {
	signIn SignIn
	assets *assets
	mux    *http.ServeMux
	cross  *http.CrossOriginProtection
}

// pages are the addresses of views. Which view an address shows is the page's own affair: see assets/app.js.
var pages = []string{
	"/{$}", "/timeline", "/tasks", "/tasks/{id}", "/devices", "/devices/{id}", "/hosts", "/workflows", "/workflows/{name}", "/events", "/submit",
}

const (
	pathSignIn  = "/sign-in"
	pathSignOut = "/sign-out"
)

// New makes the dashboard.
func New(signIn SignIn) *UI {
	u := &UI{signIn: signIn, assets: load(), mux: http.NewServeMux(), cross: http.NewCrossOriginProtection()}
	for _, page := range pages {
		u.mux.HandleFunc("GET "+page, u.servePage)
	}
	u.mux.HandleFunc("GET /assets/{hash}/{name...}", u.assets.serve)
	u.mux.HandleFunc("POST "+pathSignIn, u.serveSignIn)
	u.mux.HandleFunc("POST "+pathSignOut, u.serveSignOut)
	return u
}

// Patterns are what the dashboard answers, for a [http.ServeMux].
func (u *UI) Patterns() []string {
	patterns := []string{"GET /assets/{hash}/{name...}", "POST " + pathSignIn, "POST " + pathSignOut}
	for _, page := range pages {
		patterns = append(patterns, "GET "+page)
	}
	return patterns
}

// ServeHTTP answers one of the patterns.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.mux.ServeHTTP(w, r) }

// Lost answers a browser that asks for an address that nobody has: the page says so, and where to go. False when it is no
// browser that asks, and nothing was answered.
func (u *UI) Lost(w http.ResponseWriter, r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads || strings.HasPrefix(r.URL.Path, "/v1/") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	u.writePage(w, r, http.StatusNotFound)
	return true
}

// policy is the page's Content-Security-Policy: everything comes from this server, no script and no style is in the page
// itself, and no text can become markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func (u *UI) servePage(w http.ResponseWriter, r *http.Request) { u.writePage(w, r, http.StatusOK) }

func (u *UI) writePage(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache")
	u.assets.shell.write(w, r, status)
}
