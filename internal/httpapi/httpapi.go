package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Control is the set of use cases that the API offers: [control.Control].
type Control interface {
	Tasks
	Explanations
	Overviews
	Timelines
	Pool
	Workflows
	Feed
	Agents

	Policy() lifecycle.Policy
	Ready(ctx context.Context) error
	Close() // answers every parked claim
}

// Tasks are the use cases around tasks.
type Tasks interface {
	Submit(ctx context.Context, by control.Caller, spec phonebooth.TaskSpec, key, bodyHash string) (t phonebooth.Task, replayed bool, err error)
	SubmitBatch(ctx context.Context, by control.Caller, specs []phonebooth.TaskSpec, key, bodyHash string) (ts []phonebooth.Task, replayed bool, err error)
	Task(ctx context.Context, id phonebooth.TaskID) (phonebooth.Task, error)
	Tasks(ctx context.Context, filter store.TaskFilter) (store.TaskPage, error)
	Attempts(ctx context.Context, id phonebooth.TaskID) ([]phonebooth.Attempt, error)
	Cancel(ctx context.Context, by control.Caller, id phonebooth.TaskID) (phonebooth.Task, error)
	Log(ctx context.Context, id phonebooth.TaskID, attempt int, name string, offset int64) (io.ReadCloser, error)
	FollowLog(ctx context.Context, id phonebooth.TaskID, r control.LogRequest) (*control.LogFollower, error)
	Artifacts(ctx context.Context, id phonebooth.TaskID, attempt int) ([]control.Artifact, error)
	Coming(ctx context.Context, id phonebooth.TaskID, attempt int, found []control.Artifact) (int, error)
	ExpectArtifacts(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, total int) error
	EndArtifacts(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID) error
	Artifact(ctx context.Context, id phonebooth.TaskID, attempt int, name string) (*blob.File, error)
}

// Pool are the use cases around devices and hosts.
type Pool interface {
	Pool(ctx context.Context) (control.Pool, error)
	Cordon(ctx context.Context, by control.Caller, id phonebooth.DeviceID, reason string) error
	Uncordon(ctx context.Context, by control.Caller, id phonebooth.DeviceID) error
	Release(ctx context.Context, by control.Caller, id phonebooth.DeviceID) error
	Drain(ctx context.Context, by control.Caller, id phonebooth.HostID) error
	Resume(ctx context.Context, by control.Caller, id phonebooth.HostID) error
	RemoveHost(ctx context.Context, by control.Caller, id phonebooth.HostID) error
}

// Workflows are the use cases around workflows.
type Workflows interface {
	ApplyWorkflow(ctx context.Context, by control.Caller, name, source string) (w phonebooth.Workflow, created bool, err error)
	Workflow(ctx context.Context, name string, version int) (phonebooth.Workflow, error)
	Workflows(ctx context.Context) ([]phonebooth.Workflow, error)
}

// Feed is the record of events.
type Feed interface {
	EventPage(ctx context.Context, filter store.EventFilter) (store.EventPage, error)
	EventSpan(ctx context.Context) (store.EventSpan, error)
	EventSince(ctx context.Context, at time.Time) (after int64, err error)
	EventsBehind(ctx context.Context, pos int64) ([]phonebooth.Event, error)
	EventsAfter(pos int64) <-chan struct{}
	LookForEvents(ctx context.Context) error
}

// Agents are the use cases of Host Agents.
type Agents interface {
	Enroll(ctx context.Context, by control.Caller, tokenHash, secretHash, name string) (phonebooth.HostID, error)
	Start(ctx context.Context, by control.Caller, id phonebooth.HostID, req control.StartRequest) (phonebooth.Host, []control.Held, error)
	Inventory(ctx context.Context, by control.Caller, id phonebooth.HostID, word phonebooth.Word, seen []lifecycle.Sighting) (control.InventoryAnswer, error)
	Claim(ctx context.Context, by control.Caller, host phonebooth.HostID, req control.ClaimRequest) (control.ClaimAnswer, error)
	Renew(ctx context.Context, by control.Caller, host phonebooth.HostID, incarnation int64, leases []phonebooth.LeaseID) ([]lifecycle.Renewal, error)
	Report(ctx context.Context, by control.Caller, host phonebooth.HostID, incarnation int64, lease phonebooth.LeaseID, report phonebooth.Report, word lifecycle.DeviceWord) (phonebooth.Task, error)
	AppendLog(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, name string, offset int64, p []byte) (next int64, err error)
	EndLog(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, name string, size int64) error
	ExpectLogs(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, names []string) error
	PutArtifact(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, a blob.Artifact, body io.Reader) error
}

// Tokens tells who calls, and mints enrollment tokens: [auth.Auth].
type Tokens interface {
	Authenticate(ctx context.Context, bearer string) (auth.Identity, error)
	Enrollment(ctx context.Context, name string) (token string, expires time.Time, err error)
}

// Cookies know browsers that have signed in: [auth.SignIns].
type Cookies interface {
	Identify(r *http.Request, now time.Time) (who auth.Identity, renewed *http.Cookie, ok bool)
}

// Pages are served beside the API: package webui's dashboard.
type Pages interface {
	http.Handler
	Patterns() []string                               // of the addresses that it answers
	Lost(w http.ResponseWriter, r *http.Request) bool // answers for an address that nobody has, or says that it does not
}

// Options tune a Server; the zero value is production.
type Options struct {
	Version   string        // of the program, for /v1/version
	Metrics   http.Handler  // of /metrics; nil: there is none
	Log       *slog.Logger  // nil: none
	Cookies   Cookies       // nil: nobody is known by a cookie
	Pages     Pages         // nil: the API alone
	Heartbeat time.Duration // of event streams; 0: 15 s
	Slow      time.Duration // how long a reader may take for one piece of a stream before it is dropped; 0: 10 s
}

// Server is the HTTP API. It serves until [Server.Close].
type Server struct {
	control Control
	tokens  Tokens
	opts    Options
	log     *slog.Logger

	overview    overviewCache
	crossOrigin *http.CrossOriginProtection // of callers that are known by a cookie

	mux      *http.ServeMux
	api      huma.API
	handler  http.Handler
	stopping chan struct{} // closed when event streams and parked claims shall end
	stop     sync.Once
}

// New makes the API over c.
func New(c Control, tokens Tokens, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 15 * time.Second
	}
	if opts.Slow == 0 {
		opts.Slow = 10 * time.Second
	}
	s := &Server{
		control: c, tokens: tokens, opts: opts, log: opts.Log,
		mux: http.NewServeMux(), stopping: make(chan struct{}), crossOrigin: http.NewCrossOriginProtection(),
	}
	s.api = newAPI(s.mux)
	s.register()
	s.handler = s.around(s.mux)
	return s
}

// register adds every call. The order is that of the documentation.
func (s *Server) register() {
	s.registerTasks()
	s.registerBatch()
	s.registerExplanations()
	s.registerOverview()
	s.registerLog()
	s.registerArtifacts()
	s.registerTimeline()
	s.registerDevices()
	s.registerHosts()
	s.registerWorkflows()
	s.registerEvents()
	s.registerEnrollment()
	s.registerAgent()
	s.registerClaims()
	s.registerLeases()
	s.registerUpload()
	s.registerOperators()
	s.registerPages()
	s.mux.HandleFunc("/", s.notFound)
	plainPaths(s.api.OpenAPI())
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends event streams and answers parked claims empty. Other calls go on being answered.
func (s *Server) Close() {
	s.stop.Do(func() {
		close(s.stopping)
		s.control.Close()
	})
}
