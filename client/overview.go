package client

import (
	"context"
	"net/http"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Overview is the pool at one glance; it may be a second old.
func (c *Client) Overview(ctx context.Context) (o v1.Overview, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "overview"}, safe: true}, &o)
	return o, err
}
