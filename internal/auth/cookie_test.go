package auth_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
)

func visit(cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/tasks", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func TestASignInIsGoodForTheAdminTokenAloneAndForTwelveHours(t *testing.T) {
	t.Parallel()
	admin, secret := auth.NewToken(auth.PrefixAdmin), auth.NewToken(auth.PrefixHost)
	db := &memory{host: phonebooth.Host{ID: "host_1", TokenHash: auth.Hash(secret)}}
	s := auth.New(db, admin).SignIns()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for token, code := range map[string]string{"": "unauthenticated", admin + "x": "unauthenticated", secret: "forbidden"} {
		if c, err := s.SignIn(t.Context(), visit(), token, now); phonebooth.CodeOf(err) != code || c != nil {
			t.Errorf("a sign-in with another token: %v, %v; want %s", c, err, code)
		}
	}
	c, err := s.SignIn(t.Context(), visit(), " "+admin+"\n", now)
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.MaxAge != 12*3600 || strings.Contains(c.Value, admin) {
		t.Errorf("the cookie is %v", c)
	}
	again, _ := s.SignIn(t.Context(), visit(), admin, now)
	if again.Value == c.Value {
		t.Error("two sign-ins gave one cookie")
	}
	for _, tc := range []struct {
		at             time.Duration
		known, renewed bool
	}{
		{0, true, false},
		{59 * time.Minute, true, false},
		{2 * time.Hour, true, true},
		{12*time.Hour - time.Second, true, true},
		{12 * time.Hour, false, false},
		{-48 * time.Hour, false, false},
	} {
		who, renewed, ok := s.Identify(visit(c), now.Add(tc.at))
		if ok != tc.known || (renewed != nil) != tc.renewed || ok && who.Kind != auth.Admin {
			t.Errorf("after %v: known %v (%v), renewed %v; want %v, %v", tc.at, ok, who, renewed, tc.known, tc.renewed)
		}
		if renewed != nil {
			if _, _, ok := s.Identify(visit(renewed), now.Add(tc.at+11*time.Hour)); !ok {
				t.Errorf("the renewed cookie of %v is not known", tc.at)
			}
		}
	}
	if out := s.SignOut(visit(), time.Now()); out.Name != c.Name || out.MaxAge >= 0 || out.Value != "" {
		t.Errorf("signing out sets %v", out)
	}
}

func TestASignInOutlivesTheProcessButNotItsToken(t *testing.T) {
	t.Parallel()
	admin := auth.NewToken(auth.PrefixAdmin)
	now := time.Now()
	first := auth.New(&memory{}, admin).SignIns()
	c, err := first.SignIn(t.Context(), visit(), admin, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := auth.New(&memory{}, admin).SignIns().Identify(visit(c), now); !ok {
		t.Error("another replica, or the next process, does not know the cookie")
	}
	other := auth.New(&memory{}, auth.NewToken(auth.PrefixAdmin)).SignIns()
	stolen := *c
	stolen.Name = other.SignOut(visit(), now).Name
	if stolen.Name == c.Name {
		t.Error("two control planes on one machine share a cookie")
	}
	if _, _, ok := other.Identify(visit(&stolen), now); ok {
		t.Error("the cookie is good under another admin token")
	}
}

func TestAForgedCookieIsNone(t *testing.T) {
	t.Parallel()
	admin := auth.NewToken(auth.PrefixAdmin)
	s := auth.New(&memory{}, admin).SignIns()
	now := time.Now()
	c, err := s.SignIn(t.Context(), visit(), admin, now)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(c.Value, ".")
	forged := func(value string) *http.Cookie { return &http.Cookie{Name: c.Name, Value: value} }
	for _, value := range []string{
		"", ".", "..", parts[0], parts[0] + "." + parts[1], parts[0] + "." + parts[1] + ".", "9" + c.Value, parts[0] + ".x." + parts[2],
		c.Value + "A", c.Value[:len(c.Value)-1], strings.ToUpper(c.Value), strings.Repeat("a.", 1<<10),
	} {
		if _, _, ok := s.Identify(visit(forged(value)), now); ok {
			t.Errorf("%q is taken", value)
		}
	}
	if _, _, ok := s.Identify(visit(forged("x.y.z"), c), now); !ok {
		t.Error("a cookie beside a foreign one is not found")
	}
}

func TestUnderTLSTheCookieIsSecure(t *testing.T) {
	t.Parallel()
	admin := auth.NewToken(auth.PrefixAdmin)
	s := auth.New(&memory{}, admin).SignIns()
	direct, proxied := visit(), visit()
	direct.TLS = &tls.ConnectionState{}
	proxied.Header.Set("X-Forwarded-Proto", "https")
	for name, r := range map[string]*http.Request{"direct": direct, "proxied": proxied} {
		if c, err := s.SignIn(t.Context(), r, admin, time.Now()); err != nil || !c.Secure {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// A copy of a cookie is worth nothing once its browser has signed out, renewed or not; other sign-ins stay.
func TestSigningOutEndsEveryCopyOfTheCookie(t *testing.T) {
	t.Parallel()
	admin := auth.NewToken(auth.PrefixAdmin)
	s := auth.New(&memory{}, admin).SignIns()
	now := time.Now()
	signIn := func() *http.Cookie {
		c, err := s.SignIn(t.Context(), visit(), admin, now)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine, other := signIn(), signIn()
	now = now.Add(2 * time.Hour)
	_, renewed, ok := s.Identify(visit(mine), now)
	if !ok || renewed == nil {
		t.Fatal("a cookie in use was not renewed")
	}
	s.SignOut(visit(renewed), now)
	for name, c := range map[string]*http.Cookie{"the copy": mine, "the renewed one": renewed} {
		if _, _, ok := s.Identify(visit(c), now); ok {
			t.Errorf("%s is still good", name)
		}
	}
	if _, _, ok := s.Identify(visit(other), now); !ok {
		t.Error("another browser was signed out too")
	}
}
