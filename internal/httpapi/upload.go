package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

func (s *Server) registerUpload() {
	add(s, call{
		method: http.MethodPut, path: v1.PathAgentLeases + "/{id}/artifacts/{name...}", id: "put-artifact", tag: "agent", access: onlyHost,
		lenient: true, streams: true, status: http.StatusNoContent,
		summary: "Store a file that an attempt left",
		description: "Instead of one that had the name before; a repeat is harmless, and not read when the file is there already: send " +
			"`Expect: 100-continue`. At most 1 GiB, and 1000 files an attempt. The body may take as long as it needs while its bytes keep " +
			"coming. Accepted until ten minutes after the attempt's end.",
		codes: []string{"lease_unknown", "lease_lost", "store_full"},
	}, s.putArtifact)
}

type putArtifactInput struct {
	ID            string `path:"id" doc:"the lease's id"`
	Name          string `path:"name" doc:"parts joined by '/', 512 bytes in all; a part has 1 to 255 bytes of UTF-8 without control characters and is not . or .."`
	SHA256        string `query:"sha256" required:"true" pattern:"^[0-9a-f]{64}$" doc:"of the body, in lower-case hexadecimal"`
	ContentLength int64  `header:"Content-Length" doc:"required: a body of unknown length is refused"`
	w             http.ResponseWriter
	r             *http.Request
}

// Resolve keeps the request, whose body is read as it comes.
func (in *putArtifactInput) Resolve(ctx huma.Context) []error {
	in.r, in.w = humago.Unwrap(ctx)
	return nil
}

func (s *Server) putArtifact(ctx context.Context, in *putArtifactInput) (*struct{}, error) {
	if in.r.ContentLength < 0 {
		return nil, phonebooth.Errorf(phonebooth.Malformed, "malformed", "the size of the body must be known; send Content-Length")
	}
	body := &pieces{body: in.r.Body, c: http.NewResponseController(in.w)}
	what := blob.Artifact{Name: in.Name, Bytes: in.r.ContentLength, SHA256: in.SHA256}
	err := s.control.PutArtifact(ctx, hostOf(ctx), phonebooth.LeaseID(in.ID), what, body)
	if err == nil {
		body.done()
		return nil, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body did not arrive in time").Because(err)
	}
	if in.r.Header.Get("Expect") == "" || body.begun {
		// Callers that send on read no answer before they are done: what is not much is taken and thrown away.
		_, _ = io.CopyN(io.Discard, body, 4*maxBodyBytes)
	}
	body.done()
	return nil, err
}

// pieces reads a body that may take as long as it needs, if each piece comes in time.
type pieces struct {
	body  io.Reader
	c     *http.ResponseController
	begun bool
}

func (p *pieces) Read(b []byte) (int, error) {
	p.begun = true
	_ = p.c.SetReadDeadline(time.Now().Add(bodyTimeout))
	return p.body.Read(b)
}

// done gives the answer its time. A read deadline that passes would look as if the caller had gone away.
func (p *pieces) done() {
	_ = p.c.SetReadDeadline(time.Time{})
	_ = p.c.SetWriteDeadline(time.Now().Add(answerTimeout))
}
