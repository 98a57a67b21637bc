package httpapi

import (
	"context"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

func (s *Server) registerArtifacts() {
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}/artifacts", id: "list-artifacts", tag: "tasks", access: onlyAdmin,
		summary: "List the files that a task's attempts left",
		description: "By attempt and name: of every attempt, or of one. A file is in the list once it has arrived whole; coming is how many more " +
			"are on their way. It is 0 once their time is over.",
		codes: []string{"task_unknown", "attempt_unknown", "artifacts_expired"},
	}, s.listArtifacts)
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}/artifacts/{attempt}/{name...}", id: "read-artifact", tag: "tasks", access: onlyAdmin,
		summary: "Read a file that an attempt left",
		description: "Always as something to save, never to be shown in place. Parts can be asked for with Range; the ETag is the SHA-256 of the " +
			"whole. The name may hold '/'.",
		codes: []string{"task_unknown", "attempt_unknown", "artifact_unknown", "artifacts_expired"},
		responses: map[string]*huma.Response{
			"200": {Description: "The file's bytes", Content: binary()},
			"206": {Description: "The part that was asked for", Content: binary()},
			"304": {Description: "The caller has it: If-None-Match was the ETag"},
			"416": {Description: "The file does not have that part"},
		},
	}, s.readArtifact)
}

func binary() map[string]*huma.MediaType {
	return map[string]*huma.MediaType{unknownContent: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
}

type listArtifactsInput struct {
	ID      string `path:"id" doc:"the task's id"`
	Attempt int    `query:"attempt" minimum:"0" doc:"only what this attempt left; 0 is every one"`
}

type artifactListOutput struct{ Body v1.ArtifactList }

func (s *Server) listArtifacts(ctx context.Context, in *listArtifactsInput) (*artifactListOutput, error) {
	found, err := s.control.Artifacts(ctx, phonebooth.TaskID(in.ID), in.Attempt)
	if err != nil {
		return nil, err
	}
	coming, err := s.control.Coming(ctx, phonebooth.TaskID(in.ID), in.Attempt, found)
	if err != nil {
		return nil, err
	}
	out := &artifactListOutput{Body: v1.ArtifactList{Artifacts: []v1.Artifact{}, Coming: coming}}
	for _, a := range found {
		out.Body.Artifacts = append(out.Body.Artifacts, v1.Artifact{
			Attempt: a.Attempt, Name: a.Name, Bytes: a.Bytes, SHA256: a.SHA256, ContentType: contentType(a.Name),
		})
	}
	return out, nil
}

type artifactInput struct {
	ID      string `path:"id" doc:"the task's id"`
	Attempt int    `path:"attempt" minimum:"1" doc:"number of the attempt"`
	Name    string `path:"name" doc:"of the artifact, as the list has it"`
}

func (s *Server) readArtifact(ctx context.Context, in *artifactInput) (*huma.StreamResponse, error) {
	f, err := s.control.Artifact(ctx, phonebooth.TaskID(in.ID), in.Attempt, in.Name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer f.Close()
		r, w := humago.Unwrap(ctx)
		s.serveArtifact(w, r, f)
	}}, nil
}

// serveArtifact sends the file, or the parts of it that were asked for. The bytes are somebody else's: they are never to
// be taken for a page (nosniff is on every answer).
func (s *Server) serveArtifact(w http.ResponseWriter, r *http.Request, f *blob.File) {
	h := w.Header()
	h.Set("Content-Type", contentType(f.Name))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Name)}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", `"`+f.SHA256+`"`)
	http.ServeContent(&paced{ResponseWriter: w, c: http.NewResponseController(w), slow: s.opts.Slow}, r, "", time.Time{}, f)
}

// paced is an answer that may take as long as it needs, if each piece is taken in time.
type paced struct {
	http.ResponseWriter
	c    *http.ResponseController
	slow time.Duration
}

func (w *paced) Write(p []byte) (int, error) {
	_ = w.c.SetWriteDeadline(time.Now().Add(w.slow))
	return w.ResponseWriter.Write(p)
}

const unknownContent = "application/octet-stream"

// contents are the types of content by the ending of a name: the machine's own table would differ from host to host.
var contents = map[string]string{
	".apk": "application/vnd.android.package-archive", ".csv": "text/csv; charset=utf-8", ".gif": "image/gif", ".gz": "application/gzip",
	".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8", ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".json": "application/json", ".log": "text/plain; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".mp4": "video/mp4",
	".ndjson": "application/x-ndjson", ".pdf": "application/pdf", ".png": "image/png", ".svg": "image/svg+xml", ".tar": "application/x-tar",
	".txt": "text/plain; charset=utf-8", ".wav": "audio/wav", ".webm": "video/webm", ".webp": "image/webp", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip",
}

func contentType(name string) string {
	if known, ok := contents[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return unknownContent
}
