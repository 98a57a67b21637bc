package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
)

const uploadPath = v1.PathAgentLeases + "/lease_1/artifacts/dir/a"

var anyDigest = "?sha256=" + strings.Repeat("0", 64)

// PutArtifact notes what arrived.
func (f *scripted) PutArtifact(ctx context.Context, _ phonebooth.HostID, _ phonebooth.LeaseID, a blob.Artifact, body io.Reader) error {
	return f.put(ctx, a, body)
}

// line is a connection whose deadlines pass: a read behind its deadline fails, as does a write.
type line struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (l *line) SetReadDeadline(at time.Time) error {
	l.read = at
	return nil
}

func (l *line) SetWriteDeadline(at time.Time) error {
	l.write = at
	return nil
}

func (l *line) late(deadline time.Time) bool { return !deadline.IsZero() && time.Now().After(deadline) }

func (l *line) Write(p []byte) (int, error) {
	if l.late(l.write) {
		return 0, errors.New("i/o timeout")
	}
	return l.ResponseRecorder.Write(p)
}

// slow is a body of which a byte comes after each pause.
type slow struct {
	from  *line
	pause time.Duration
	left  int
}

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause) // of the bubble
	if s.from.late(s.from.read) {
		return 0, os.ErrDeadlineExceeded
	}
	s.left--
	p[0] = 'x'
	return 1, nil
}

func (s *slow) Close() error { return nil }

func TestALargeArtifactMayTakeItsTimeIfItsPiecesCome(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		pause  time.Duration
		status int
	}{"pieces come": {25 * time.Second, http.StatusNoContent}, "pieces stay away": {31 * time.Second, http.StatusBadRequest}} {
		synctest.Test(t, func(t *testing.T) {
			f := newScripted()
			got := 0
			f.put = func(ctx context.Context, a blob.Artifact, body io.Reader) error {
				text, err := io.ReadAll(body)
				got = len(text)
				return errors.Join(err, ctx.Err())
			}
			l := &line{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequest(http.MethodPut, uploadPath+anyDigest, &slow{from: l, pause: c.pause, left: 100})
			r.ContentLength = 100
			r.Header.Set("Authorization", "Bearer "+hostToken)
			httpapi.New(f, auth.New(f, adminToken), httpapi.Options{}).ServeHTTP(l, r)
			if l.Code != c.status || c.status < 300 && got != 100 || l.late(l.write) || !l.read.IsZero() {
				t.Errorf("%s: %d %s after %d bytes, deadlines %v and %v", what, l.Code, l.Body, got, l.read, l.write)
			}
		})
	}
}

func TestAnUploadSaysWhatItIs(t *testing.T) {
	t.Parallel()
	f := newScripted()
	var seen []blob.Artifact
	f.put = func(_ context.Context, a blob.Artifact, body io.Reader) error {
		seen = append(seen, a)
		_, err := io.Copy(io.Discard, body)
		return err
	}
	r := newRig(t, f)
	large := string(bytes.Repeat([]byte{'x'}, 3<<20))
	if a := r.ask(t, "PUT", uploadPath+anyDigest, large, asHost); a.status != http.StatusNoContent {
		t.Errorf("a body that is larger than any other may be: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "PUT", uploadPath+anyDigest, "", asHost); a.status != http.StatusNoContent {
		t.Errorf("an empty body: %d %s", a.status, a.body)
	}
	if len(seen) != 2 || seen[0].Name != "dir/a" || seen[0].Bytes != 3<<20 || seen[1].Bytes != 0 {
		t.Errorf("arrived: %+v", seen)
	}
	for what, query := range map[string]string{"no digest": "", "a short one": "?sha256=00", "upper case": "?sha256=" + strings.Repeat("A", 64)} {
		if a := r.ask(t, "PUT", uploadPath+query, "x", asHost); a.status != 422 || a.problem.Extra["pointer"] != "sha256" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.URL+uploadPath+anyDigest, io.MultiReader(strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hostToken)
	resp, err := r.Client().Do(req) // in chunks, since its size is not known
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || len(seen) != 2 {
		t.Errorf("a body of unknown size: %d", resp.StatusCode)
	}
	if got := strings.Contains(r.log.String(), leaseID) || strings.Contains(r.log.String(), "lease_1"); got {
		t.Error("the log shows a lease id")
	}
}
