package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// registerOperators adds the calls that need no token: they tell that something is there and how it is, and nothing of tasks,
// devices or hosts.
func (s *Server) registerOperators() {
	add(s, call{
		method: http.MethodGet, path: v1.PathVersion, id: "read-version", tag: "operators",
		summary: "Read the version", description: "Of the program, and of its API.",
	}, func(context.Context, *struct{}) (*versionOutput, error) {
		return &versionOutput{Body: v1.Version{Version: s.opts.Version, API: "v1", Now: time.Now().UTC()}}, nil
	})
	add(s, call{
		method: http.MethodGet, path: "/healthz", id: "read-health", tag: "operators",
		summary: "Is the process alive?", description: "It answers 204 as long as it answers at all.",
	}, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	add(s, call{
		method: http.MethodGet, path: "/readyz", id: "read-readiness", tag: "operators",
		summary: "Can requests be answered?", description: "204 when they can: the database is there and the server is not stopping.",
		codes: []string{"store_unavailable"},
	}, s.ready)
	if s.opts.Metrics != nil {
		s.mux.Handle("GET /metrics", s.opts.Metrics)
	}
	s.mux.HandleFunc("GET /llms.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, phonebooth.ForAgents())
	})
	s.serveDocument()
}

type versionOutput struct{ Body v1.Version }

func (s *Server) ready(ctx context.Context, _ *struct{}) (*struct{}, error) {
	select {
	case <-s.stopping:
		return nil, phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "the server is stopping")
	default:
		return nil, s.control.Ready(ctx)
	}
}
