package auth

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
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
type SignIns struct {
	auth *Auth
	name string
	key  []byte
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
	return &SignIns{auth: a, name: "phonebooth_" + hex.EncodeToString(derived("name", 4)), key: derived("key", sha256.Size)}
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
	return s.fresh(r, now), nil
}

// SignOut is the cookie that takes a browser's sign-in away.
func (s *SignIns) SignOut(r *http.Request) *http.Cookie { return s.cookie(r, "", -1) }

// Identify tells whose browser made r: false without a cookie that counts. renewed is a fresh cookie to be sent back with
// the answer, or nil.
func (s *SignIns) Identify(r *http.Request, now time.Time) (who Identity, renewed *http.Cookie, ok bool) {
	for _, c := range r.CookiesNamed(s.name) {
		expires, ok := s.opened(c.Value)
		left := expires.Sub(now)
		if !ok || left <= 0 || left > SignInLife+signInRenewal {
			continue
		}
		if left < SignInLife-signInRenewal {
			renewed = s.fresh(r, now)
		}
		return Identity{Kind: Admin}, renewed, true
	}
	return Identity{}, nil, false
}

func (s *SignIns) fresh(r *http.Request, now time.Time) *http.Cookie {
	text := strconv.FormatInt(now.Add(SignInLife).Unix(), 10) + "." + rand.Text()
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

// opened is the expiry in a cookie's value, if this control plane wrote it.
func (s *SignIns) opened(value string) (expires time.Time, ok bool) {
	at := strings.LastIndexByte(value, '.')
	if at < 0 || !hmac.Equal([]byte(value[at+1:]), []byte(s.mac(value[:at]))) {
		return time.Time{}, false
	}
	digits, _, _ := strings.Cut(value, ".")
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0), err == nil
}
