package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
)

const (
	agentVerb = "__agent" // the test binary as an agent in a process of its own: URL, home
	leapVar   = "PHONEBOOTH_TEST_LEAP"
	patience  = 30 * time.Second
	shortTTL  = 3 * time.Second
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case minder.Verb:
			os.Exit(minder.Main(minder.Options{Now: leaping(os.Getenv(leapVar))}))
		case fake.Verb:
			os.Exit(fake.Main())
		case agentVerb:
			os.Exit(remoteAgent(os.Args[2], os.Args[3]))
		}
	}
	// These tests wait for processes and leases more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// leaping is lease time that leaps by an hour once the file at path exists.
func leaping(path string) func() time.Duration {
	return func() time.Duration {
		if _, err := os.Stat(path); path != "" && err == nil {
			return boottime.Now() + time.Hour
		}
		return boottime.Now()
	}
}

func contains(text []byte, part string) bool { return bytes.Contains(text, []byte(part)) }

func runners() (*runner.Registry, error) {
	pretend, err := fake.Registration("sim")
	if err != nil {
		return nil, err
	}
	quick := runner.Ladder{Grace: 300 * time.Millisecond, TermGrace: 300 * time.Millisecond}
	own := func(name string, argv ...string) runner.Registration {
		return runner.Registration{Name: name, Fence: "process", Runner: runner.Program{Argv: argv, Stop: quick}}
	}
	g := &runner.Registry{}
	examples, err := exampleRunners()
	if err != nil {
		return nil, err
	}
	for _, r := range examples {
		if err := g.Register(r); err != nil {
			return nil, err
		}
	}
	return g, errors.Join(
		g.Register(pretend), g.Register(own("shell", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`)),
		g.Register(with(own("told", "sh", "-c", `printf '%s %s ' "$PHONEBOOTH_WITH_TO_DO" "${PHONEBOOTH_WITH_OPEN-unset}"; grep -c '"to-do": "rest!"' "$PHONEBOOTH_INPUT"`), func(r *runner.Registration) {
			p := r.Runner.(runner.Program)
			p.Inputs = map[string]runner.Value{"to-do": {Default: "{goal}!"}, "open": {}}
			r.Runner = p
		})),
		g.Register(with(own("counted", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`), func(r *runner.Registration) {
			r.Runner, r.ReadsLog = counted{r.Runner.(runner.Program)}, true
		})),
		g.Register(own("echo", "sh", "-c", `printf %s "$PHONEBOOTH_GOAL"`)), g.Register(own("missing", "no-such-program-here")),
		g.Register(with(own("quiet", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`), func(r *runner.Registration) { r.Limits.Silence = time.Second })),
		g.Register(with(own("small", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`), func(r *runner.Registration) {
			r.Limits.ArtifactsBytes, r.Keep = 1<<20, []string{"report-*.xml"}
		})),
		g.Register(with(own("trusted", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`), func(r *runner.Registration) { r.Secrets = []string{"API_KEY", "PEM"} })),
		g.Register(with(own("needy", "true"), func(r *runner.Registration) { r.Secrets = []string{"API_KEY", "ABSENT"} })),
		g.Register(with(own("parsed", "sh", "-c", `eval "$PHONEBOOTH_GOAL"`), func(r *runner.Registration) { r.Runner = lastLine{r.Runner.(runner.Program)} })),
	)
}

func with(r runner.Registration, change func(*runner.Registration)) runner.Registration {
	change(&r)
	return r
}

// counted is a runner that fails with how much its program wrote.
type counted struct{ runner.Program }

func (counted) Parse(e runner.End) (phonebooth.Report, bool) {
	if e.Log == nil {
		return runner.Failed("no_log", "there is no log"), true
	}
	n, err := io.Copy(io.Discard, e.Log)
	return runner.Failed("counted", fmt.Sprint(n, err)), true
}

// lastLine is a runner that fails under what its program wrote, and leaves it as an artifact.
type lastLine struct{ runner.Program }

func (lastLine) Parse(e runner.End) (phonebooth.Report, bool) {
	if e.Log == nil {
		return runner.Failed("no_log", "there is no log"), true
	}
	text, err := io.ReadAll(e.Log)
	if err == nil && e.Place.Dir != "" {
		err = os.WriteFile(filepath.Join(e.Place.Artifacts, "parsed.txt"), text, 0o600)
	}
	if err != nil {
		return runner.Failed("no_artifact", err.Error()), true
	}
	return runner.Failed("parsed", strings.TrimSpace(string(text))), true
}

// talking is a bridge that passes a command when a device is opened.
type talking struct{ *sim.Bridge }

func (b talking) Open(ctx context.Context, key string, lease bridge.Lease) (bridge.Access, error) {
	access, err := b.Bridge.Open(ctx, key, lease)
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintln(lease.Log, "shell echo "+key+"\nwith hunter2-hunter2")
	way, err := os.CreateTemp("", "sim-way-")
	if err != nil {
		return nil, err
	}
	return passage{access, way.Name()}, way.Close()
}

// passage is an access that programs can see to be open: the file that SIM_WAY names is there until it is cut.
type passage struct {
	bridge.Access
	way string
}

func (p passage) Env() []string { return append(p.Access.Env(), "SIM_WAY="+p.way) }

func (p passage) Cut() {
	_ = os.Remove(p.way) // it was cut before
	p.Access.Cut()
}

func (p passage) Close(ctx context.Context) error {
	p.Cut()
	return p.Access.Close(ctx)
}

// house is one host: its agent, its devices and the control plane that it talks to.
type house struct {
	*scripted
	dir    string
	bridge *sim.Bridge
	logs   *logBuffer
	room   func(bool) error // instead of a look at the disk, or nil
	stop   func() error     // stops the agent and waits for it
	over   <-chan struct{}  // closed when the agent has ended
	err    error            // its end; to be read after over

	refused bool // the agent is expected to end with an error
}

// logBuffer keeps what the agent logs.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// openHome opens a directory that an agent has just left: processes that other tests are starting may have a copy of its
// lock for a moment.
func openHome(t *testing.T, dir string) (home *agent.Home) {
	t.Helper()
	eventually(t, "a free home", func() bool {
		var err error
		if home, err = agent.OpenHome(dir); err != nil && !errors.As(err, new(*config.InUseError)) {
			t.Fatal(err)
		}
		return err == nil
	})
	return home
}

func newHome(t *testing.T, dir string) *agent.Home {
	t.Helper()
	home := openHome(t, dir)
	if _, err := home.Enroll(t.Context(), enroller{}, "token", "test"); err != nil {
		t.Fatal(err)
	}
	return home
}

// enroller enrolls everybody, each secret as a host of its own.
type enroller struct{}

func (enroller) Enroll(_ context.Context, r v1.EnrollRequest) (v1.EnrollAnswer, error) {
	return v1.EnrollAnswer{HostID: "host_" + strings.ToLower(r.Secret[:20])}, nil
}

// newHouse starts an agent in this process.
func newHouse(t *testing.T, devices int, options agent.Options) *house {
	t.Helper()
	h := &house{}
	h.open(t, devices, options)
	return h
}

// open furnishes h, starts its agent, and waits until every device is ready.
func (h *house) open(t *testing.T, devices int, options agent.Options) {
	t.Helper()
	h.scripted, h.dir, h.bridge, h.logs = newScripted(shortTTL), t.TempDir(), sim.New(devices), &logBuffer{}
	h.start(t, options)
	for i := range devices {
		h.condition(t, "sim-"+strconv.Itoa(i+1), phonebooth.Ready)
	}
}

// start starts an agent in h's directory.
func (h *house) start(t *testing.T, options agent.Options) {
	t.Helper()
	home := newHome(t, h.dir)
	registry, err := runners()
	if err != nil {
		t.Fatal(err)
	}
	options.Log = slog.New(slog.NewTextHandler(h.logs, nil))
	a, err := agent.New(home, h.scripted, map[string]bridge.Bridge{"sim": talking{h.bridge}}, registry, options)
	if err != nil {
		t.Fatal(err)
	}
	if h.room != nil {
		a.SetRoom(h.room)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	h.over = over
	go func() {
		defer close(over)
		h.err = errors.Join(a.Run(ctx), home.Close())
	}()
	h.stop = func() error {
		cancel()
		select {
		case <-over:
			return h.err
		case <-time.After(patience):
			return errors.New("the agent did not stop")
		}
	}
	stop := h.stop
	t.Cleanup(func() {
		if err := stop(); err != nil && !h.refused {
			t.Errorf("stopping the agent: %v", err)
		}
		if t.Failed() {
			t.Logf("the agent's log:\n%s", h.logs)
		}
	})
}

// alive reports whether a process runs.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), nil)
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// pidIn waits for a process id in a file that a runner wrote.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	pid := 0
	eventually(t, "a process id in "+filepath.Base(path), func() bool {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// eventually polls: for what real processes do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not seen: %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// dead waits for the death of a process.
func dead(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the death of process %d", pid), func() bool { return !alive(pid) })
}

// The control plane as another process sees it: one path a call, JSON there and back.

type reply struct {
	Answer json.RawMessage
	Kind   phonebooth.Kind
	Code   string
	Detail map[string]string
}

type logCall struct {
	LeaseID, Name string
	Offset        int64
	P             []byte
}

type artifactCall struct {
	LeaseID, Name, SHA256 string
	Size                  int64
	Body                  []byte
}

func (s *scripted) serve(t *testing.T) string {
	mux := http.NewServeMux()
	handle(mux, "start", s.Start)
	handle(mux, "inventory", s.Inventory)
	handle(mux, "claim", s.Claim)
	handle(mux, "renew", s.Renew)
	handle(mux, "report", s.Report)
	handle(mux, "log", func(ctx context.Context, c logCall) (v1.LogAnswer, error) {
		return s.AppendLog(ctx, c.LeaseID, c.Name, c.Offset, c.P)
	})
	handle(mux, "end", func(ctx context.Context, c logCall) (struct{}, error) {
		return struct{}{}, s.EndLog(ctx, c.LeaseID, c.Name, c.Offset)
	})
	handle(mux, "artifact", func(ctx context.Context, c artifactCall) (struct{}, error) {
		return struct{}{}, s.PutArtifact(ctx, c.LeaseID, c.Name, c.Size, c.SHA256, bytes.NewReader(c.Body))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func handle[Q, A any](mux *http.ServeMux, name string, call func(context.Context, Q) (A, error)) {
	mux.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := call(r.Context(), q)
		var back reply
		if refusal, ok := errors.AsType[*phonebooth.Error](err); ok {
			back = reply{Kind: refusal.Kind, Code: refusal.Code, Detail: refusal.Detail}
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		} else if back.Answer, err = json.Marshal(answer); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(back)
	})
}

// remote is the control plane at a URL.
type remote string

func ask[A any](ctx context.Context, url remote, name string, q any) (answer A, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(url)+"/"+name, bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	var back reply
	if err := json.NewDecoder(response.Body).Decode(&back); err != nil {
		return answer, err
	}
	if back.Code != "" {
		refusal := phonebooth.Errorf(back.Kind, back.Code, "refused")
		refusal.Detail = back.Detail
		return answer, refusal
	}
	return answer, json.Unmarshal(back.Answer, &answer)
}

func (u remote) Start(ctx context.Context, r v1.IncarnationRequest) (v1.IncarnationAnswer, error) {
	return ask[v1.IncarnationAnswer](ctx, u, "start", r)
}

func (u remote) Inventory(ctx context.Context, r v1.InventoryRequest) (v1.InventoryAnswer, error) {
	return ask[v1.InventoryAnswer](ctx, u, "inventory", r)
}

func (u remote) Claim(ctx context.Context, r v1.ClaimRequest) (v1.ClaimAnswer, error) {
	return ask[v1.ClaimAnswer](ctx, u, "claim", r)
}

func (u remote) Renew(ctx context.Context, r v1.RenewalRequest) (v1.RenewalAnswer, error) {
	return ask[v1.RenewalAnswer](ctx, u, "renew", r)
}

func (u remote) Report(ctx context.Context, r v1.ReportRequest) (v1.ReportAnswer, error) {
	return ask[v1.ReportAnswer](ctx, u, "report", r)
}

func (u remote) AppendLog(ctx context.Context, leaseID, name string, offset int64, p []byte) (v1.LogAnswer, error) {
	return ask[v1.LogAnswer](ctx, u, "log", logCall{leaseID, name, offset, p})
}

func (u remote) EndLog(ctx context.Context, leaseID, name string, size int64) error {
	_, err := ask[struct{}](ctx, u, "end", logCall{LeaseID: leaseID, Name: name, Offset: size})
	return err
}

func (u remote) PutArtifact(ctx context.Context, leaseID, name string, size int64, sha256hex string, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, err = ask[struct{}](ctx, u, "artifact", artifactCall{LeaseID: leaseID, Name: name, SHA256: sha256hex, Size: size, Body: text})
	return err
}

// remoteAgent is an agent's whole process. It has one device.
func remoteAgent(url, dir string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	home, err := agent.OpenHome(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	registry, err := runners()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a, err := agent.New(home, remote(url), map[string]bridge.Bridge{"sim": talking{sim.New(1)}}, registry, agent.Options{})
	if err == nil {
		err = a.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startRemote starts an agent in a process of its own, which is killed when t ends.
func startRemote(t *testing.T, url, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, agentVerb, url, dir)
	cmd.Stderr = &logBuffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the log of agent %d:\n%s", cmd.Process.Pid, cmd.Stderr)
		}
	})
	return cmd
}
