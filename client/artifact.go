package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Artifacts lists the files that an attempt left, or every attempt of the task if attempt is 0; by attempt and name.
func (c *Client) Artifacts(ctx context.Context, id string, attempt int) ([]v1.Artifact, error) {
	list, err := c.ArtifactList(ctx, id, attempt)
	return list.Artifacts, err
}

// ArtifactList is Artifacts with how many more are on their way.
func (c *Client) ArtifactList(ctx context.Context, id string, attempt int) (v1.ArtifactList, error) {
	query := url.Values{}
	if attempt != 0 {
		query.Set("attempt", strconv.Itoa(attempt))
	}
	var list v1.ArtifactList
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "tasks", id, "artifacts"}, query: query, safe: true}, &list)
	return list, err
}

// Artifact reads a file that the attempt left, under the name that the list has. The caller closes it, and compares the
// digest if it must know that the connection did not break.
func (c *Client) Artifact(ctx context.Context, id string, attempt int, name string) (io.ReadCloser, error) {
	path := append([]string{"v1", "tasks", id, "artifacts", strconv.Itoa(attempt)}, strings.Split(name, "/")...)
	return c.open(ctx, request{method: http.MethodGet, path: path, safe: true})
}

// PutArtifact stores a file of size bytes that an attempt left, instead of one that had the name before; name is a path
// with slashes of at most 512 bytes. Body is not closed, and not read any more once PutArtifact has returned; if the file
// is there already it is not read at all. The same call again, with a body from the beginning, is harmless.
//
// too_large (extra limit) and invalid are final: such a file cannot be stored. So are lease_unknown and lease_lost.
func (a *Agent) PutArtifact(ctx context.Context, leaseID, name string, size int64, sha256hex string, body io.Reader) error {
	header := http.Header{"Content-Type": {"application/octet-stream"}, "Expect": {"100-continue"}}
	setHost(header, a.hostID)
	lent := &lentBody{from: body, left: size}
	defer lent.takeBack()
	path := append([]string{"v1", "agent", "leases", leaseID, "artifacts"}, strings.Split(name, "/")...)
	err := a.client.do(ctx, request{
		method: http.MethodPut, path: path, query: url.Values{"sha256": {sha256hex}}, header: header, stream: lent, size: size,
	}, nil)
	if wrong := lent.takeBack(); wrong != nil && phonebooth.CodeOf(err) == Unreachable {
		return wrong
	}
	return err
}

// lentBody is a caller's reader in the hands of the transport, which may go on reading after it has given an answer.
type lentBody struct {
	mu   sync.Mutex
	from io.Reader // nil once it was taken back
	left int64
	err  error // what was wrong with the reader
}

var errTakenBack = errors.New("the request is over")

func (b *lentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from == nil {
		return 0, errTakenBack
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && b.left > 0, b.left < 0:
		err = phonebooth.Errorf(phonebooth.Invalid, "invalid", "the file does not have the size that was announced; it has changed")
		b.err = err
	case err != nil && !errors.Is(err, io.EOF):
		b.err = err
	}
	return n, err
}

// takeBack waits for a Read that is under way, and gives what was wrong with the reader.
func (b *lentBody) takeBack() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = nil
	return b.err
}
