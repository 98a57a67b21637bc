package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
)

// access is who may make a call.
type access int

const (
	anybody access = iota
	onlyAdmin
	onlyHost
)

// call describes one call of the API.
type call struct {
	method, path string
	id           string // operation id
	tag          string
	summary      string
	description  string
	access       access
	lenient      bool     // accept what is not known, as agent calls do
	parks        bool     // it may be kept waiting on purpose
	streams      bool     // its body is for handle to read, as long as its pieces come in time
	maxBody      int64    // bytes; 0: maxBodyBytes
	status       int      // of success; 0: 200, or 204 without a body
	codes        []string // of the problems that it may answer beside those of every call
	responses    map[string]*huma.Response
}

// add registers a call. What handle refuses becomes a problem.
func add[I, O any](s *Server, c call, handle func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: c.id, Method: c.method, Path: c.path, Tags: []string{c.tag}, Summary: c.summary, Description: c.description,
		DefaultStatus: c.status, Responses: c.responses,
		// Bodies are read and bounded by receive. A negative timeout ends the read deadline, which a parked call needs.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
		RejectUnknownQueryParameters: !c.lenient,
		Middlewares:                  huma.Middlewares{s.authenticate(c.access), s.receive(cmp.Or(c.maxBody, maxBodyBytes))},
	}
	if c.streams {
		op.Middlewares = huma.Middlewares{s.authenticate(c.access)}
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}}
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	if c.access != anybody {
		op.Security = []map[string][]string{{map[access]string{onlyAdmin: "admin", onlyHost: "host"}[c.access]: {}}}
	}
	documentProblems(s.api, &op, c)
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		limit := callTimeout
		if c.parks {
			limit += parkTimeout
		}
		bounded, stop := ctx, context.CancelFunc(func() {})
		if !c.streams {
			bounded, stop = context.WithTimeout(ctx, limit)
		}
		defer stop()
		out, err := handle(bounded, in)
		if err != nil {
			return nil, s.refusal(ctx, err)
		}
		return out, nil
	})
}

// authenticate settles who calls, before anything else is read.
func (s *Server) authenticate(who access) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if who == anybody {
			next(ctx)
			return
		}
		r, w := humago.Unwrap(ctx)
		if err := s.allow(w, r, who); err != nil {
			s.refusal(ctx.Context(), err).write(w)
			return
		}
		next(ctx)
	}
}

func (s *Server) allow(w http.ResponseWriter, r *http.Request, who access) error {
	ctx, stop := context.WithTimeout(r.Context(), callTimeout)
	defer stop()
	caller, err := s.identify(ctx, w, r)
	if err != nil {
		return err
	}
	requestOf(r.Context()).caller = caller
	switch named := r.Header.Get(v1.HeaderHostID); {
	case who == onlyAdmin && caller.Kind != auth.Admin:
		return phonebooth.Errorf(phonebooth.Forbidden, "forbidden", "a host's token opens the agent calls only; use the admin token")
	case who == onlyHost && caller.Kind != auth.Host:
		return phonebooth.Errorf(phonebooth.Forbidden, "forbidden", "this call is a Host Agent's; the admin token does not open it")
	case who == onlyHost && named != "" && phonebooth.HostID(named) != caller.HostID:
		return phonebooth.Errorf(phonebooth.Forbidden, "wrong_host", "the token is another host's; an agent acts for its own host alone")
	}
	return nil
}

// bearer is the request's token, or "" when it has none or several.
func bearer(r *http.Request) string {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// newAPI makes the framework's side: JSON only, none of its own pages, no schema links in answers.
func newAPI(mux *http.ServeMux) huma.API {
	installHooks()
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	config := huma.DefaultConfig("Phonebooth", "v1")
	config.CreateHooks = nil
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.Formats = map[string]huma.Format{"application/json": format, "json": format}
	describe(config.OpenAPI)
	return humago.New(mux, config)
}

// unmarshal reads JSON that is known to be well formed; what does not fit a field is told without its value.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return errors.New("the value of " + mismatch.Field + " does not fit")
	}
	if err != nil {
		return errors.New("a value does not fit its field")
	}
	return nil
}

// documentProblems lists the problems that a call may answer, by status.
func documentProblems(api huma.API, op *huma.Operation, c call) {
	codes := append([]string{"malformed", "invalid", "internal"}, c.codes...)
	if c.method == http.MethodPost || c.method == http.MethodPut {
		codes = append(codes, "too_large")
	}
	switch c.access {
	case onlyAdmin:
		codes = append(codes, "unauthenticated", "forbidden", "store_unavailable")
	case onlyHost:
		codes = append(codes, "unauthenticated", "forbidden", "wrong_host", "store_unavailable")
	}
	schema := api.OpenAPI().Components.Schemas.Schema(problemType, true, "Problem")
	for _, code := range codes {
		known := problemCodes[code]
		status := strconv.Itoa(v1.StatusOf(known.kind))
		line := "`" + code + "`: " + known.meaning
		if r := op.Responses[status]; r != nil {
			r.Description += "; " + line
			continue
		}
		op.Responses[status] = &huma.Response{
			Description: line,
			Content:     map[string]*huma.MediaType{v1.ContentTypeProblem: {Schema: schema}},
		}
	}
}
