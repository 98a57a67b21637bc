package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// maxAnswerBytes bounds an answer that is read whole. Lists are paged far below it.
const maxAnswerBytes = 64 << 20

const (
	firstPause = 100 * time.Millisecond // at most, before the second try; doubled with each
	longPause  = 5 * time.Second
)

// request is one call, ready to be made more than once.
type request struct {
	method string
	path   []string // parts, to be escaped
	query  url.Values
	header http.Header
	body   []byte
	stream io.Reader // instead of body: size bytes, which can be sent only once
	size   int64
	safe   bool // a repeat does no harm
}

// do makes the call, with patience if it is safe, and decodes the answer into out; nil out drops it.
func (c *Client) do(ctx context.Context, r request, out any) error {
	return c.patiently(ctx, r, func() (time.Duration, error) {
		response, err := c.send(ctx, r)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return 0, c.unreachable(err)
		}
		if response.StatusCode < 200 || response.StatusCode > 299 {
			return retryAfter(response), refusal(response.StatusCode, body)
		}
		if out == nil {
			return 0, nil
		}
		if err := json.Unmarshal(body, out); err != nil {
			return 0, unreadable(response.StatusCode).Because(err)
		}
		return 0, nil
	})
}

// open makes the call and hands over the answer's body, to be read as it comes and closed.
func (c *Client) open(ctx context.Context, r request) (body io.ReadCloser, err error) {
	err = c.patiently(ctx, r, func() (time.Duration, error) {
		response, err := c.send(ctx, r)
		if err != nil {
			return 0, err
		}
		if response.StatusCode == http.StatusOK {
			body = response.Body
			return 0, nil
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return 0, c.unreachable(err)
		}
		return retryAfter(response), refusal(response.StatusCode, text)
	})
	return body, err
}

// patiently tries until there is an answer that a repeat would not change. Pauses are drawn from zero to a limit that
// doubles, so that many callers do not come back together; they are never shorter than the server asked for.
func (c *Client) patiently(ctx context.Context, r request, try func() (wait time.Duration, err error)) error {
	began := time.Now()
	for limit := firstPause; ; limit = min(2*limit, longPause) {
		wait, err := try()
		if !r.safe || !repeatable(err) {
			return err
		}
		pause := wait + rand.N(limit)
		if time.Since(began)+pause > c.patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// repeatable reports whether the same call may get another answer a little later.
func repeatable(err error) bool {
	var e *phonebooth.Error
	return errors.As(err, &e) && (e.Kind == phonebooth.Unavailable)
}

// send makes the call once. A non-nil response has its body open, whatever its status.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	parts, err := escaped(r.path)
	if err != nil {
		return nil, err
	}
	u := c.base.JoinPath(parts...)
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if r.stream != nil {
		req.Body, req.ContentLength = http.NoBody, r.size
		if r.size > 0 {
			req.Body = io.NopCloser(r.stream)
		}
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return response, nil
}

// escaped makes a path of parts. A part that would lead elsewhere is refused.
func escaped(parts []string) ([]string, error) {
	out := make([]string, len(parts))
	for i, part := range parts {
		if part == "" || part == "." || part == ".." {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "an id or a name is missing")
		}
		out[i] = url.PathEscape(part)
	}
	return out, nil
}

// unreachable tells that there was no answer. The cause is kept, so errors.Is finds context.Canceled.
func (c *Client) unreachable(err error) error {
	var inner *url.Error // it would show the whole address, which may hold a lease id
	if errors.As(err, &inner) {
		err = inner.Err
	}
	message := "the server at %s is not reachable: is it running, and is the address right?"
	switch {
	case errors.Is(err, context.Canceled):
		message = "the call to the server at %s was given up"
	case errors.Is(err, context.DeadlineExceeded):
		message = "the server at %s did not answer in time"
	}
	return phonebooth.Errorf(phonebooth.Unavailable, Unreachable, message, c.base).Because(err)
}

// refusal is what an answer that is no success says.
func refusal(status int, body []byte) error {
	var p v1.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return unreadable(status).Because(err)
	}
	p.Status = status
	return p.Err()
}

// unreadable tells of an answer that is not the API's. Something between may be to blame: a repeat may help after a 5xx.
func unreadable(status int) *phonebooth.Error {
	kind := v1.KindOf(status)
	if status >= 500 || status < 300 {
		kind = phonebooth.Unavailable
	}
	return phonebooth.Errorf(kind, Unreadable,
		"the answer, with status %d, is not one of Phonebooth's: is the address right, and is there a proxy in between?", status).
		With("status", strconv.Itoa(status))
}

// retryAfter is how long the server asks to wait, at most a minute.
func retryAfter(r *http.Response) time.Duration {
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Minute)
}

// bodyOf is the JSON of a request's body.
func bodyOf(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "the request cannot be written as JSON").Because(err)
	}
	return b.Bytes(), nil
}
