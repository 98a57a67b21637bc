package httpapi

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// minPackedBytes is what an answer must have for gzip to be worth it.
const minPackedBytes = 1400

// packing compresses what JSON a call answers to those who take gzip: lists shrink to a tenth. Agents' calls are small and
// many, logs and artifacts have lengths and ranges, streams must not be held back: they go out as they are.
func packing(w http.ResponseWriter, r *http.Request) *packer {
	wanted := r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasPrefix(r.URL.Path, "/v1/agent/") &&
		acceptsGzip(r.Header.Get("Accept-Encoding"))
	return &packer{ResponseWriter: w, wanted: wanted}
}

// packer decides at the first bytes. It must be closed.
type packer struct {
	http.ResponseWriter
	wanted  bool
	status  int // that was given and has not gone out yet
	decided bool
	z       *gzip.Writer
}

// WriteHeader waits for the first bytes.
func (p *packer) WriteHeader(status int) {
	if p.decided || !p.wanted || status != http.StatusOK {
		p.decided = true
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.status = status
}

func (p *packer) Write(b []byte) (int, error) {
	p.decide(len(b))
	if p.z != nil {
		return p.z.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

func (p *packer) decide(first int) {
	if p.decided {
		return
	}
	p.decided = true
	h := p.Header()
	if p.wanted && first >= minPackedBytes && h.Get("Content-Type") == "application/json" && h.Get("Content-Encoding") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		h.Del("Content-Length")
		p.z, _ = gzip.NewWriterLevel(p.ResponseWriter, gzip.BestSpeed)
	}
	if p.status != 0 {
		p.ResponseWriter.WriteHeader(p.status)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (p *packer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// FlushError sends what there is; http.ResponseController asks for it.
func (p *packer) FlushError() error {
	p.decide(0)
	if p.z != nil {
		if err := p.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

func (p *packer) close() {
	p.decide(0)
	if p.z != nil {
		_ = p.z.Close() // to a caller that may be gone
	}
}
