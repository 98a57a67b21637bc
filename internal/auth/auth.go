// Package auth tells who is calling. There are three secrets, each 256 random bits:
//
//   - the admin token, for people and programs. It is made at the first start and kept in the data directory, or given by a
//     file; see [AdminToken]. The process that serves holds its hash; nobody else does, so replacing the file and starting
//     again makes the older one worthless.
//   - enrollment tokens, with which a machine becomes a host, once, within an hour of the store's clock. The database holds
//     their hashes; package control spends them.
//   - host tokens, drawn by each Host Agent itself. The database holds the hash with the host's row, so that a host that
//     was removed is refused at once.
//
// The secrets carry enough entropy that a plain SHA-256 keeps them: nothing can be guessed from a stolen database.
//
// A browser shows the admin token once and has a cookie from then on: see [SignIns].
//
// It decides who somebody is, not what they may do: package httpapi does. An Auth may be used by any number of goroutines.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Prefixes tell people which secret they are looking at.
const (
	PrefixAdmin      = "pb_admin_"
	PrefixEnrollment = "pb_enroll_"
	PrefixHost       = "pb_host_"
)

// EnrollmentLife is for how long an enrollment token may be spent.
const EnrollmentLife = time.Hour

// maxTokenBytes bounds what is hashed for somebody who is not known yet.
const maxTokenBytes = 512

// Kind is the sort of a caller.
type Kind string

// The kinds of caller.
const (
	Admin Kind = "admin"
	Host  Kind = "host" // a Host Agent, acting for its own host alone
)

// Identity is who is calling.
type Identity struct {
	Kind   Kind
	HostID phonebooth.HostID // of a host, else ""
	Name   string            // of a host, else ""
}

// Actor is the identity's name in events.
func (i Identity) Actor() string {
	if i.Kind == Host {
		return "host:" + i.Name
	}
	return string(i.Kind)
}

// Subject owns the identity's idempotency keys.
func (i Identity) Subject() string {
	if i.Kind == Host {
		return string(i.HostID)
	}
	return string(i.Kind)
}

// Store is what auth asks of the database.
type Store interface {
	HostOfToken(ctx context.Context, tokenHash string) (phonebooth.Host, error)
	PutToken(ctx context.Context, token store.Token) error
	Now(ctx context.Context) (time.Time, error)
}

// Auth knows the admin token's hash, and asks the store for everything else, each time.
type Auth struct {
	store     Store
	adminHash string
}

// New makes an Auth for the admin token, which it forgets but for its hash.
func New(st Store, adminToken string) *Auth {
	return &Auth{store: st, adminHash: Hash(adminToken)}
}

// Authenticate tells whose token bearer is. Any that is not known, and that of a removed host, is refused with the code
// unauthenticated; when the store cannot be asked, the code is store_unavailable.
func (a *Auth) Authenticate(ctx context.Context, bearer string) (Identity, error) {
	if bearer == "" || len(bearer) > maxTokenBytes {
		return Identity{}, unauthenticated()
	}
	hash := Hash(bearer)
	if subtle.ConstantTimeCompare([]byte(hash), []byte(a.adminHash)) == 1 {
		return Identity{Kind: Admin}, nil
	}
	h, err := a.store.HostOfToken(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Identity{}, unauthenticated()
	case err != nil:
		return Identity{}, unavailable(err)
	case !h.RemovedAt.IsZero():
		return Identity{}, phonebooth.Errorf(phonebooth.Unauthenticated, "unauthenticated",
			"this host was removed from the pool; enroll it again")
	}
	return Identity{Kind: Host, HostID: h.ID, Name: h.Name}, nil
}

// Enrollment mints a one-time token for a host of that name; "" lets the agent choose its own.
func (a *Auth) Enrollment(ctx context.Context, name string) (token string, expires time.Time, err error) {
	if name != "" && !phonebooth.ValidName(name) {
		return "", time.Time{}, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"a host's name must be 1 to 63 letters, digits, dots, underscores and hyphens").With("pointer", "/name")
	}
	now, err := a.store.Now(ctx)
	if err != nil {
		return "", time.Time{}, unavailable(err)
	}
	token, expires = NewToken(PrefixEnrollment), now.Add(EnrollmentLife)
	err = a.store.PutToken(ctx, store.Token{
		Hash: Hash(token), Kind: "enrollment", Name: name, CreatedAt: now, ExpiresAt: expires,
	})
	if err != nil {
		return "", time.Time{}, unavailable(err)
	}
	return token, expires, nil
}

// tokenEncoding is the alphabet of tokens: lower-case letters and digits, so that a double click takes all of one.
var tokenEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewToken draws a secret that begins with prefix.
func NewToken(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) // never fails: the runtime ends the program instead
	return prefix + strings.ToLower(tokenEncoding.EncodeToString(b[:]))
}

// Hash is the form in which a secret is stored.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func unauthenticated() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unauthenticated, "unauthenticated",
		"a valid token is needed: send Authorization: Bearer TOKEN")
}

func unavailable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the database is not available; try again").Because(err)
}
