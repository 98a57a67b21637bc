package client

import (
	"context"
	"net/http"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Explain says why a task waits, where it runs, or how it ended.
func (c *Client) Explain(ctx context.Context, id string) (e v1.Explanation, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks", id, "explain"}, safe: true}, &e)
	return e, err
}

// ExplainRequest says what a submission of req would meet now; it is refused as the submission would be, except for a full
// queue, which is in the answer. Nothing is stored.
func (c *Client) ExplainRequest(ctx context.Context, req v1.TaskRequest) (e v1.Explanation, err error) {
	if err := validText(req); err != nil {
		return e, err
	}
	body, err := bodyOf(req)
	if err != nil {
		return e, err
	}
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"v1", "tasks", "explain"}, body: body, safe: true}, &e)
	return e, err
}
