package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// call sends one request as it stands and decodes the answer; a problem becomes a *phonebooth.Error. It never repeats.
func (s *System) call(ctx context.Context, token, method, path string, header http.Header, body, out any) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	status, answer, err := s.send(ctx, token, method, path, header, payload)
	if err != nil {
		return err
	}
	return decode(status, answer, out)
}

// decode reads an answer; a problem becomes a *phonebooth.Error.
func decode(status int, answer []byte, out any) error {
	if status >= 400 {
		var p v1.Problem
		if err := json.Unmarshal(answer, &p); err != nil {
			return fmt.Errorf("%d with a body that is no problem: %q", status, answer)
		}
		e := phonebooth.Errorf(phonebooth.Internal, p.Code, "%s", p.Detail)
		for k, v := range p.Extra {
			e = e.With(k, v)
		}
		return e
	}
	if out == nil {
		return nil
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = answer
		return nil
	}
	return json.Unmarshal(answer, out)
}

func (s *System) send(ctx context.Context, token, method, path string, header http.Header, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.listen+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if header != nil {
		req.Header = header
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// Fetch reads a path as the admin and gives the whole answer, whatever it is.
func (s *System) Fetch(t *testing.T, path string, header http.Header) (status int, answer http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// Raw sends a body byte for byte as the admin and gives the status and, for an error, the problem.
func (s *System) Raw(t *testing.T, method, path, body string) (int, v1.Problem) {
	t.Helper()
	return s.RawAs(t, s.token, method, path, body)
}

// RawAs is Raw with another token.
func (s *System) RawAs(t *testing.T, token, method, path, body string) (int, v1.Problem) {
	t.Helper()
	status, answer, err := s.send(t.Context(), token, method, path, nil, []byte(body))
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var p v1.Problem
	if status >= 400 {
		if err := json.Unmarshal(answer, &p); err != nil {
			t.Fatalf("%s %s: %d with a body that is no problem: %q", method, path, status, answer)
		}
	}
	return status, p
}

// must is an admin's call that succeeds.
func must[T any](t *testing.T, s *System, method, path string, body any) T {
	t.Helper()
	var out T
	if err := s.call(t.Context(), s.token, method, path, nil, body, &out); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}
