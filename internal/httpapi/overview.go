package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Overviews is the use case of one glance.
type Overviews interface {
	Overview(ctx context.Context) (v1.Overview, error)
}

// overviewLife is for how long one answer is given to everybody. However many dashboards are open, the database is asked
// once in that time; those who follow the events know from the position what to add.
const overviewLife = time.Second

func (s *Server) registerOverview() {
	add(s, call{
		method: http.MethodGet, path: v1.PathOverview, id: "read-overview", tag: "pool", access: onlyAdmin,
		summary: "See everything at one glance",
		description: "What every device does, what waits, and how the last hour went: small enough for a thousand devices, made for screens " +
			"that show the pool. An answer may be a second old; `pos` says which events are in it.",
		responses: map[string]*huma.Response{"200": {Description: "The overview", Content: s.jsonOf(v1.Overview{})}},
	}, s.readOverview)
}

type overviewInput struct {
	AcceptEncoding string `header:"Accept-Encoding" hidden:"true"`
}

func (s *Server) readOverview(ctx context.Context, in *overviewInput) (*huma.StreamResponse, error) {
	made, err := s.overview.now(ctx, s.control)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Vary", "Accept-Encoding")
		body := made.plain
		if acceptsGzip(in.AcceptEncoding) {
			body = made.packed
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(body) // to a caller that may be gone
	}}, nil
}

// answeredOverview is an overview as it goes out.
type answeredOverview struct{ plain, packed []byte }

// overviewCache keeps the newest overview for overviewLife. The zero value is empty.
type overviewCache struct {
	mu   sync.Mutex
	made time.Time
	last answeredOverview
}

// now is the overview of this moment, or of one a moment ago. One caller makes it, the others wait for it.
func (c *overviewCache) now(ctx context.Context, from Overviews) (answeredOverview, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.made) < overviewLife {
		return c.last, nil
	}
	began := time.Now()
	o, err := from.Overview(ctx)
	if err != nil {
		return answeredOverview{}, err
	}
	var plain, packed bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&plain, o); err != nil {
		return answeredOverview{}, err
	}
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(plain.Bytes()) // to memory
	_ = z.Close()
	c.made, c.last = began, answeredOverview{plain.Bytes(), packed.Bytes()}
	return c.last, nil
}

func acceptsGzip(header string) bool { return strings.Contains(header, "gzip") }
