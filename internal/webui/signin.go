package webui

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// maxSignInBytes is more than any token has.
const maxSignInBytes = 4096

// serveSignIn takes {"token": "..."} and answers with the cookie, or with a problem.
func (u *UI) serveSignIn(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if err := u.cross.Check(r); err != nil {
		refuse(w, phonebooth.Errorf(phonebooth.Forbidden, "cross_origin", "sign in from the dashboard's own page"))
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSignInBytes)).Decode(&body); err != nil {
		refuse(w, phonebooth.Errorf(phonebooth.Malformed, "malformed", `the body must be {"token": "..."}`))
		return
	}
	cookie, err := u.signIn.SignIn(r.Context(), r, body.Token, time.Now())
	if err != nil {
		refuse(w, err)
		return
	}
	http.SetCookie(w, cookie)
	w.WriteHeader(http.StatusNoContent)
}

// serveSignOut takes the cookie away.
func (u *UI) serveSignOut(w http.ResponseWriter, r *http.Request) {
	if err := u.cross.Check(r); err != nil {
		refuse(w, phonebooth.Errorf(phonebooth.Forbidden, "cross_origin", "sign out from the dashboard's own page"))
		return
	}
	http.SetCookie(w, u.signIn.SignOut(r, time.Now()))
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers with a problem, as the API does.
func refuse(w http.ResponseWriter, err error) {
	known, ok := errors.AsType[*phonebooth.Error](err)
	if !ok {
		known = phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the request was interrupted; try again")
	}
	p := v1.ProblemOf(known)
	w.Header().Set("Content-Type", v1.ContentTypeProblem)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // to a browser that may be gone
}
