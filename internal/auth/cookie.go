package auth

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// SignInLife is for how long a browser that is not used stays signed in.
const SignInLife = 12 * time.Hour

// signInRenewal is the age at which a cookie in use is replaced by a fresh one.
const signInRenewal = time.Hour

// SignIns know browsers by a cookie, EXPIRY.NONCE.MAC. It is sealed with a key that comes from the admin token: it outlives
// the process, is good on every replica, and is worthless once the admin token is replaced. Nothing of it is stored. May be
// used by any number of goroutines.
//
// What was signed out is remembered by this process until it would have ended anyway: a copy of the cookie opens nothing then,
// here and until the next start.
type SignIns struct {
	auth *Auth
	name string
	key  []byte

	mu   sync.Mutex
	over map[string]time.Time // by nonce, which a renewed cookie keeps; until when it could have been renewed
}

// SignIns are those of the admin token that a knows.
func (a *Auth) SignIns() *SignIns {
	derived := func(purpose string, size int) []byte {
		key, err := hkdf.Key(sha256.New, []byte(a.adminHash), nil, "phonebooth sign-in: "+purpose, size)
		if err != nil {
			panic(err) // the size is more than HKDF gives
		}
		return key
	}
	// A browser keeps the cookies of all ports of a machine together: two control planes must not take each other's.
	return &SignIns{auth: a, name: "phonebooth_" + hex.EncodeToString(derived("name", 4)), key: derived("key", sha256.Size), over: map[string]time.Time{}}
}

// SignIn is the cookie for a browser whose user knows token. A host's token opens nothing here.
func (s *SignIns) SignIn(ctx context.Context, r *http.Request, token string, now time.Time) (*http.Cookie, error) {
	who, err := s.auth.Authenticate(ctx, strings.TrimSpace(token))
	switch {
	case phonebooth.CodeOf(err) == "unauthenticated":
		return nil, phonebooth.Errorf(phonebooth.Unauthenticated, "unauthenticated", "this is not the admin token of this control plane")
	case err != nil:
		return nil, err
	case who.Kind != Admin:
		return nil, phonebooth.Errorf(phonebooth.Forbidden, "forbidden", "this is a host's token; it opens the agent calls only. Use the admin token")
	}
	return s.fresh(r, rand.Text(), now), nil
}

// SignOut ends the sign-in that r shows, with all copies and renewals of its cookie, and is the cookie that takes it away.
func (s *SignIns) SignOut(r *http.Request, now time.Time) *http.Cookie {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.over, func(_ string, until time.Time) bool { return until.Before(now) })
	for _, c := range r.CookiesNamed(s.name) {
		if expires, nonce, ok := s.opened(c.Value); ok && expires.After(now) {
			s.over[nonce] = now.Add(SignInLife + signInRenewal)
		}
	}
	return s.cookie(r, "", -1)
}

func (s *SignIns) isOver(nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, over := s.over[nonce]
	return over
}

// Identify tells whose browser made r: false without a cookie that counts. renewed is a fresh cookie to be sent back with
// the answer, or nil.
func (s *SignIns) Identify(r *http.Request, now time.Time) (who Identity, renewed *http.Cookie, ok bool) {
	for _, c := range r.CookiesNamed(s.name) {
		expires, nonce, ok := s.opened(c.Value)
		left := expires.Sub(now)
		if !ok || left <= 0 || left > SignInLife+signInRenewal || s.isOver(nonce) {
			continue
		}
		if left < SignInLife-signInRenewal {
			renewed = s.fresh(r, nonce, now)
		}
		return Identity{Kind: Admin}, renewed, true
	}
	return Identity{}, nil, false
}

func (s *SignIns) fresh(r *http.Request, nonce string, now time.Time) *http.Cookie {
	text := strconv.FormatInt(now.Add(SignInLife).Unix(), 10) + "." + nonce
	return s.cookie(r, text+"."+s.mac(text), int(SignInLife/time.Second))
}

func (s *SignIns) cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https", // a forged header only makes the browser careful
	}
}

func (s *SignIns) mac(text string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// opened is the expiry and the nonce in a cookie's value, if this control plane wrote it.
func (s *SignIns) opened(value string) (expires time.Time, nonce string, ok bool) {
	at := strings.LastIndexByte(value, '.')
	if at < 0 || !hmac.Equal([]byte(value[at+1:]), []byte(s.mac(value[:at]))) {
		return time.Time{}, "", false
	}
	digits, nonce, _ := strings.Cut(value[:at], ".")
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0), nonce, err == nil
}
