package httpapi

import (
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

var problemType = reflect.TypeFor[v1.Problem]()

// problemCodes are the stable codes of the API.
var problemCodes = map[string]struct {
	kind    phonebooth.Kind
	meaning string
}{
	"malformed":              {phonebooth.Malformed, "the request cannot be read"},
	"unauthenticated":        {phonebooth.Unauthenticated, "no valid token"},
	"forbidden":              {phonebooth.Forbidden, "the token does not open this call"},
	"wrong_host":             {phonebooth.Forbidden, "the token is another host's"},
	"task_unknown":           {phonebooth.NotFound, "there is no such task"},
	"attempt_unknown":        {phonebooth.NotFound, "the task has no such attempt"},
	"artifact_unknown":       {phonebooth.NotFound, "the attempt left no such artifact"},
	"device_unknown":         {phonebooth.NotFound, "there is no such device"},
	"host_unknown":           {phonebooth.NotFound, "there is no such host"},
	"lease_unknown":          {phonebooth.NotFound, "the calling host has no such lease"},
	"workflow_unknown":       {phonebooth.NotFound, "there is no such workflow or version"},
	"task_ended":             {phonebooth.Conflict, "the task ended otherwise; extra.status says how"},
	"not_reserved":           {phonebooth.Conflict, "no attempt holds the device"},
	"host_busy":              {phonebooth.Conflict, "devices of the host hold a task"},
	"lease_lost":             {phonebooth.Conflict, "the attempt has ended; extra.reason says how. A report is kept as evidence"},
	"not_claimed":            {phonebooth.Conflict, "the attempt was never claimed"},
	"report_conflict":        {phonebooth.Conflict, "the attempt was reported with another outcome"},
	"log_gap":                {phonebooth.Conflict, "bytes are missing; extra.next is the offset to go on from"},
	"position_ahead":         {phonebooth.Conflict, "the record ends before the position; extra.newest says where. It is of another database, or of one that was restored"},
	"position_pruned":        {phonebooth.Gone, "events behind the position were removed after their retention; extra.oldest is the first that there is"},
	"log_expired":            {phonebooth.Gone, "the task's logs were removed after their retention; extra.removed_at says when"},
	"artifacts_expired":      {phonebooth.Gone, "the task's artifacts were removed after their retention; extra.removed_at says when"},
	"host_superseded":        {phonebooth.Conflict, "a newer agent runs as this host; this one must stop"},
	"host_identity_conflict": {phonebooth.Conflict, "the agent remembers another incarnation than the control plane"},
	"too_large":              {phonebooth.TooLarge, "the body is too large, or there is one too many; extra.limit says how much is allowed"},
	"invalid":                {phonebooth.Invalid, "a value makes no sense; extra.pointer says which"},
	"idempotency_key_reused": {phonebooth.Invalid, "the key was used with another body"},
	"queue_full":             {phonebooth.Exhausted, "as many tasks wait as are allowed; extra.limit says how many"},
	"store_unavailable":      {phonebooth.Unavailable, "the database cannot be asked now; repeat"},
	"store_full":             {phonebooth.Unavailable, "the control plane's disk is nearly full; no new tasks and artifacts until there is room"},
	"outcome_unknown":        {phonebooth.Unavailable, "the change may or may not have been made; repeat, which is harmless"},
	"internal":               {phonebooth.Internal, "a fault of the control plane; its log has it under the request id"},
}

// describe fills in the general part of the document.
func describe(doc *huma.OpenAPI) {
	doc.Info.Description = "One task at a time on every phone you own. Bodies are JSON; durations end in `_s` (seconds) or `_ms` " +
		"(milliseconds); times are RFC 3339 in UTC. Refusals are RFC 9457 problems whose `code` is stable. Unknown fields are " +
		"refused, except in agent calls. Every answer has an `X-Request-Id`, the caller's own if it sent one, which is found " +
		"again in events. `Retry-After` comes with 429 and 503."
	doc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	doc.Tags = []*huma.Tag{
		{Name: "tasks", Description: "Submit, watch and stop tasks."},
		{Name: "pool", Description: "Devices and hosts, and taking them out and back."},
		{Name: "workflows", Description: "Named, versioned, immutable lists of steps."},
		{Name: "events", Description: "The append-only record, to read and to follow."},
		{Name: "agent", Description: "What Host Agents say and ask. Each acts for its own host alone."},
		{Name: "operators", Description: "Health and version."},
	}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"admin": {Type: "http", Scheme: "bearer", Description: "the admin token"},
		"host":  {Type: "http", Scheme: "bearer", Description: "the secret that a Host Agent made for itself when it enrolled"},
	}
}

// serveDocument serves the document of all calls registered so far. It is rendered now: it never changes, and rendering at
// the first request would race with the second.
func (s *Server) serveDocument() {
	openAnswers(s.api.OpenAPI())
	asJSON, err := s.api.OpenAPI().MarshalJSON()
	if err != nil {
		panic("the API's document cannot be rendered: " + err.Error()) // found by the first test that makes a Server
	}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(asJSON)
	})
}

// plainPaths writes a parameter that takes the rest of a path, which the mux spells {name...}, as the document can.
func plainPaths(doc *huma.OpenAPI) {
	for path, item := range doc.Paths {
		if plain := strings.ReplaceAll(path, "...}", "}"); plain != path {
			delete(doc.Paths, path)
			doc.Paths[plain] = item
		}
	}
}

// openAnswers allows fields that are not known in what only answers hold: a later version may add some. Requests are left
// strict, since that is how they are judged.
func openAnswers(doc *huma.OpenAPI) {
	asked := map[string]bool{}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				collect(doc.Components.Schemas, media.Schema, asked)
			}
		}
	}
	for name, schema := range doc.Components.Schemas.Map() {
		if closed, ok := schema.AdditionalProperties.(bool); ok && !closed && !asked[name] {
			schema.AdditionalProperties = nil
		}
	}
}

// collect adds the names of all schemas that schema refers to.
func collect(all huma.Registry, schema *huma.Schema, names map[string]bool) {
	if schema == nil {
		return
	}
	if name := path.Base(schema.Ref); schema.Ref != "" && !names[name] {
		names[name] = true
		collect(all, all.SchemaFromRef(schema.Ref), names)
	}
	collect(all, schema.Items, names)
	for _, property := range schema.Properties {
		collect(all, property, names)
	}
}

// OpenAPI is the API's document as YAML, as it is committed in api/openapi.yaml.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().YAML() }

// jsonOf documents a JSON body like example.
func (s *Server) jsonOf(example any) map[string]*huma.MediaType {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(example), true, "")
	return map[string]*huma.MediaType{"application/json": {Schema: schema}}
}
