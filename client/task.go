package client

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Submit stores a task and gives it back as queued, under an Idempotency-Key of its own: a repeat after a broken connection
// finds the task that the first try made.
func (c *Client) Submit(ctx context.Context, req v1.TaskRequest) (v1.Task, error) {
	return c.SubmitKey(ctx, NewKey(), req)
}

// SubmitKey is [Client.Submit] under the caller's key, which should be kept until there is an answer. The same key with the
// same request gives the task as it is now; with another request it is refused as idempotency_key_reused.
func (c *Client) SubmitKey(ctx context.Context, key string, req v1.TaskRequest) (task v1.Task, err error) {
	if err := phonebooth.ValidIdempotencyKey(key); err != nil {
		return task, err
	}
	if err := validText(req); err != nil {
		return task, err
	}
	body, err := bodyOf(req)
	if err != nil {
		return task, err
	}
	err = c.do(ctx, request{
		method: http.MethodPost, path: []string{"v1", "tasks"}, body: body, safe: true,
		header: http.Header{v1.HeaderIdempotencyKey: {key}},
	}, &task)
	return task, err
}

// NewKey draws an idempotency key.
func NewKey() string {
	var b [20]byte
	rand.Read(b[:]) // never fails: the runtime ends the program instead
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// validText refuses what JSON would repair in silence: a goal must arrive unharmed or not at all (C40).
func validText(req v1.TaskRequest) error {
	texts := append([]string{req.Goal}, req.Constraints.Tags...)
	for key, value := range req.Labels {
		texts = append(texts, key, value)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the goal, the tags and the labels must be valid UTF-8")
		}
	}
	return nil
}

// Task is the task as it is now.
func (c *Client) Task(ctx context.Context, id string) (task v1.Task, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks", id}, safe: true}, &task)
	return task, err
}

// Attempts lists every attempt of a task, the first one first.
func (c *Client) Attempts(ctx context.Context, id string) ([]v1.Attempt, error) {
	var list v1.AttemptList
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks", id, "attempts"}, safe: true}, &list)
	return list.Attempts, err
}

// Cancel cancels a queued task at once, and asks the host of a running one to stop it; the status of the answer tells which.
func (c *Client) Cancel(ctx context.Context, id string) (task v1.Task, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "tasks", id, "cancel"}, safe: true}, &task)
	return task, err
}

// Log reads the bytes of one of an attempt's logs (v1.LogRunner or another) from offset on; attempt 0 is the newest. The caller closes it. A log that grows is
// followed by asking again from the offset that was reached.
func (c *Client) Log(ctx context.Context, id string, attempt int, name string, offset int64) (io.ReadCloser, error) {
	query := url.Values{}
	query.Set("attempt", strconv.Itoa(attempt))
	query.Set("offset", strconv.FormatInt(offset, 10))
	if name != v1.LogRunner {
		set(query, "name", name)
	}
	return c.open(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks", id, "log"}, query: query, safe: true})
}

// Wait waits until the task has ended and gives it back. It tells seen, unless that is nil, of every state it finds on the
// way. It asks ever more slowly, at most once a second; ctx ends it.
func (c *Client) Wait(ctx context.Context, id string, seen func(v1.Task)) (v1.Task, error) {
	for pause := 50 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		task, err := c.Task(ctx, id)
		if err != nil {
			return task, err
		}
		if seen != nil {
			seen(task)
		}
		if phonebooth.Status(task.Status).Terminal() {
			return task, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return task, c.unreachable(ctx.Err())
		}
	}
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}
