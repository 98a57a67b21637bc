package auth_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// memory is a database with one host.
type memory struct {
	host   phonebooth.Host
	tokens []store.Token
	now    time.Time
	err    error
}

func (m *memory) HostOfToken(_ context.Context, hash string) (phonebooth.Host, error) {
	if m.err != nil {
		return phonebooth.Host{}, m.err
	}
	if hash != m.host.TokenHash {
		return phonebooth.Host{}, store.ErrNotFound
	}
	return m.host, nil
}

func (m *memory) PutToken(_ context.Context, token store.Token) error {
	m.tokens = append(m.tokens, token)
	return m.err
}

func (m *memory) Now(context.Context) (time.Time, error) { return m.now, m.err }

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	admin, secret := auth.NewToken(auth.PrefixAdmin), auth.NewToken(auth.PrefixHost)
	db := &memory{host: phonebooth.Host{ID: "host_1", Name: "rack", TokenHash: auth.Hash(secret)}}
	a := auth.New(db, admin)

	for name, tc := range map[string]struct {
		bearer string
		want   auth.Identity
		actor  string
	}{
		"admin": {admin, auth.Identity{Kind: auth.Admin}, "admin"},
		"host":  {secret, auth.Identity{Kind: auth.Host, HostID: "host_1", Name: "rack"}, "host:rack"},
	} {
		got, err := a.Authenticate(t.Context(), tc.bearer)
		if err != nil || got != tc.want || got.Actor() != tc.actor {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, tc.want)
		}
	}
	for name, bearer := range map[string]string{
		"none": "", "wrong": "pb_admin_wrong", "a hash": auth.Hash(admin), "cut": admin[:len(admin)-1],
		"longer": admin + "a", "endless": strings.Repeat("a", 1<<20),
	} {
		if got, err := a.Authenticate(t.Context(), bearer); phonebooth.CodeOf(err) != "unauthenticated" || got != (auth.Identity{}) {
			t.Errorf("%s: got %+v, %v; want unauthenticated", name, got, err)
		}
	}
}

func TestAuthenticateRefusesARemovedHostAtOnce(t *testing.T) {
	t.Parallel()
	secret := auth.NewToken(auth.PrefixHost)
	db := &memory{host: phonebooth.Host{ID: "host_1", TokenHash: auth.Hash(secret)}}
	a := auth.New(db, auth.NewToken(auth.PrefixAdmin))
	if _, err := a.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	db.host.RemovedAt = time.Now()
	if _, err := a.Authenticate(t.Context(), secret); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("got %v, want unauthenticated", err)
	}
}

func TestAuthenticateWithoutADatabase(t *testing.T) {
	t.Parallel()
	admin := auth.NewToken(auth.PrefixAdmin)
	cause := errors.New("dial /secret/path: refused")
	a := auth.New(&memory{err: cause}, admin)
	if _, err := a.Authenticate(t.Context(), admin); err != nil {
		t.Errorf("the admin needs no database: %v", err)
	}
	_, err := a.Authenticate(t.Context(), auth.NewToken(auth.PrefixHost))
	if phonebooth.CodeOf(err) != "store_unavailable" || !errors.Is(err, cause) || strings.Contains(err.Error(), "/secret") {
		t.Errorf("got %v, want store_unavailable that hides its cause", err)
	}
}

func TestEnrollmentKeepsOnlyTheHash(t *testing.T) {
	t.Parallel()
	db := &memory{now: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
	a := auth.New(db, auth.NewToken(auth.PrefixAdmin))
	token, expires, err := a.Enrollment(t.Context(), "rack-1")
	if err != nil {
		t.Fatal(err)
	}
	want := store.Token{
		Hash: auth.Hash(token), Kind: "enrollment", Name: "rack-1", CreatedAt: db.now, ExpiresAt: db.now.Add(time.Hour),
	}
	if len(db.tokens) != 1 || db.tokens[0] != want || !expires.Equal(want.ExpiresAt) {
		t.Errorf("got %+v until %v, want %+v", db.tokens, expires, want)
	}
	if _, err := a.Authenticate(t.Context(), token); phonebooth.CodeOf(err) != "unauthenticated" {
		t.Errorf("an enrollment token is no bearer token: got %v", err)
	}
	if _, _, err := a.Enrollment(t.Context(), "no spaces please"); phonebooth.CodeOf(err) != "invalid" {
		t.Errorf("got %v, want invalid", err)
	}
}

func TestAdminTokenIsMadeOnceAndItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := auth.AdminToken(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, "pb_admin_") || len(first) < 9+52 {
		t.Errorf("got a token of %d bytes", len(first))
	}
	path := filepath.Join(dir, "admin.token")
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("got %v, %v; want mode 0600", info.Mode(), err)
	}
	if again, err := auth.AdminToken(dir, ""); err != nil || again != first {
		t.Errorf("second start: another token, %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("got %d files, want the token alone", len(entries))
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.AdminToken(dir, ""); err == nil || strings.Contains(err.Error(), first) {
		t.Errorf("readable by others: got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if next, err := auth.AdminToken(dir, ""); err != nil || next == first {
		t.Errorf("removed: got the old token, %v", err)
	}
}

func TestAdminTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := strings.Repeat("k3y.", 10)
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"good":      {own + "\n", true},
		"empty":     {"", false},
		"short":     {"secret", false},
		"two lines": {own + "\n" + own, false},
		"binary":    {own + "\x00", false},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(tc.text), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := auth.AdminToken(dir, file)
		if (err == nil) != tc.ok || tc.ok && got != own {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if err != nil && tc.text != "" && strings.Contains(err.Error(), strings.TrimSpace(tc.text)) {
			t.Errorf("%s: the error holds the token: %v", name, err)
		}
	}
	if _, err := auth.AdminToken(dir, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
	if _, err := os.Stat(filepath.Join(dir, auth.AdminTokenFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a given file makes no other one: %v", err)
	}
}
