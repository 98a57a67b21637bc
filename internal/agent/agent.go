package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/agent/spool"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// Options tunes an Agent. The zero value is production.
type Options struct {
	Version  string                      // of this program, for people
	TakeOver bool                        // replace another agent that runs as this host
	Log      *slog.Logger                // nil: slog.Default
	Environ  []string                    // of which a runner gets what is on the contract's list; nil: this process's
	Secrets  map[string]telemetry.Secret // of the host, by name; a runner gets those that it names as variables
	Without  map[string]string           // secrets that cannot be had, by name: why
	Cleanup  []Hook                      // of the host's own, after each attempt
	LockDir  string                      // for locks of devices that other agents of this machine reach too; "": one that they find
	Minder   minder.Command              // how a minder is started; the zero value re-executes this binary
	Now      func() time.Duration        // lease time; nil: boottime.Now
}

// Agent is one life of a Host Agent.
type Agent struct {
	home    *Home
	host    phonebooth.HostID
	server  Server
	bridges map[string]bridge.Bridge
	runners *runner.Registry
	options Options
	log     *slog.Logger
	now     func() time.Duration
	mask    *mask.Mask                // hides the host's secrets
	room    func(thorough bool) error // why there is none on the disk

	pool    *pool
	leases  leases
	journal *journal.Journal
	spool   *spool.Spool

	incarnation int64 // set by begin, before anything that reads it runs
	timing      timing

	hurry   chan struct{} // gets a token when the control plane asks for a renewal
	stopped chan struct{} // closed when no new work may be begun
	failed  chan struct{} // closed when the control plane has ended this agent
	failure error         // why; to be read after failed
	once    sync.Once     // for failed
	stop    func()        // closes stopped

	// What Run waits for, in this order: each starts what comes after it.
	claims     sync.WaitGroup // requests for work
	attempts   sync.WaitGroup
	deliveries sync.WaitGroup // reports and logs
	loops      sync.WaitGroup
}

// New makes the agent of the host that home is enrolled as. The bridges' names become a part of their devices' identity. The
// agent owns home's directory until Run has returned; the caller closes home after that.
func New(home *Home, server Server, bridges map[string]bridge.Bridge, runners *runner.Registry, options Options) (*Agent, error) {
	id, ok := home.Identity()
	if !ok {
		return nil, errors.New("this agent is not enrolled")
	}
	a := &Agent{
		home: home, host: id.HostID, server: server, bridges: bridges, runners: runners, options: options, log: options.Log,
		now: options.Now, pool: newPool(), timing: untold,
		hurry: make(chan struct{}, 1), stopped: make(chan struct{}), failed: make(chan struct{}),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.now == nil {
		a.now = boottime.Now
	}
	if a.options.Environ == nil {
		a.options.Environ = os.Environ()
	}
	if a.options.LockDir == "" {
		a.options.LockDir = filepath.Join(os.TempDir(), fmt.Sprintf("phonebooth-devices-%d", os.Getuid()))
	}
	a.room = func(thorough bool) error { return roomIn(home.dir, thorough) }
	a.mask = maskOf(options.Secrets)
	a.stop = sync.OnceFunc(func() { close(a.stopped) })
	var err error
	if a.journal, err = journal.Open(home.journalDir()); err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	if a.spool, err = spool.Open(home.spoolDir()); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return a, nil
}

// Run is the agent's life. When ctx ends it stops what runs, gives it back, sends the reports for a bounded time, and
// returns nil. It returns ErrSuperseded when another agent has taken over, and another error when the control plane
// refuses this one. It is called once.
func (a *Agent) Run(ctx context.Context) error {
	if a.home.Moved() && !a.options.TakeOver {
		return phonebooth.Errorf(phonebooth.Conflict, "host_identity_conflict",
			"the data directory was copied or moved since its agent last ran; if this agent shall run the host from now on, start it with --take-over")
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer a.deliveries.Wait()
	defer a.loops.Wait()
	defer end()

	if a.home.Moved() {
		a.home.forget()
	}
	left, logs := a.recover(ctx, life)
	held, err := a.begin(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	for _, p := range left {
		a.comeBack(life, p.lease)
	}
	for _, l := range logs {
		a.comeBack(life, l)
		a.deliveries.Go(func() { a.removePlace(life, l) })
	}
	a.startLoops(life)
	if a.resume(ctx, life, left, held) {
		asking, cancel := context.WithCancel(life)
		defer cancel()
		unhook := context.AfterFunc(ctx, cancel)
		defer unhook()
		go func() { // ends with the agent's stop, which every path reaches
			<-a.stopped
			cancel()
		}()
		a.claimWork(asking, life) // returns when asking ends
	}
	a.stop()
	a.claims.Wait()
	a.leave(life)
	for _, l := range a.leases.all() {
		l.end(runner.Stopping)
	}
	a.attempts.Wait()
	a.drainSpool(life)
	select {
	case <-a.failed:
		return a.failure
	default:
		a.log.Info("agent stopped")
		return nil
	}
}

// begin makes the first call of this life, until it is answered or ctx ends.
func (a *Agent) begin(ctx context.Context) ([]v1.HeldLease, error) {
	id, err := a.home.startID()
	if err != nil {
		return nil, err
	}
	request := v1.IncarnationRequest{
		StartID: id, Previous: a.home.memory.Incarnation, TakeOver: a.options.TakeOver, Version: a.options.Version,
	}
	failing := false
	for {
		call, cancel := context.WithTimeout(ctx, a.timing.callTimeout())
		answer, err := a.server.Start(call, request)
		cancel()
		if err == nil {
			a.incarnation, a.timing = answer.Incarnation, timingOf(answer.Timing)
			a.log.Info("agent started", "host_id", a.host, "incarnation", a.incarnation, "lease", a.timing.lease)
			return answer.Leases, a.home.started(answer.Incarnation)
		}
		if answered(err) {
			return nil, fmt.Errorf("start as host %s: %w", a.host, err)
		}
		a.noteFailing(ctx, &failing, "start", err)
		if !sleep(ctx, a.timing.pause()) {
			return nil, nil
		}
	}
}

// listPatience is how long the bridges may take for their first list: the first inventory should not say that devices are
// gone which were only not seen yet.
const listPatience = 2 * time.Second

// startLoops starts what runs for the agent's whole life.
func (a *Agent) startLoops(life context.Context) {
	heard := make(chan struct{}, len(a.bridges))
	for name := range a.bridges {
		a.loops.Go(func() { a.follow(life, name, heard) })
	}
	a.loops.Go(func() { a.renewLeases(life) })
	a.loops.Go(func() {
		patience := time.After(listPatience)
		for range a.bridges {
			select {
			case <-heard:
			case <-patience:
			case <-life.Done():
			}
		}
		a.checkRoom()
		a.tellInventory(life)
	})
}

// heed stops the agent when an answer says that it must. Everything is cut and killed first.
func (a *Agent) heed(err error) {
	end := ending(err)
	if end == nil {
		return
	}
	a.once.Do(func() {
		a.log.Error("this agent must stop", "err", err)
		a.failure = end
		a.stop()
		for _, l := range a.leases.all() {
			l.fall()
		}
		close(a.failed)
	})
}

// stopping reports whether no new work may be begun.
func (a *Agent) stopping() bool {
	select {
	case <-a.stopped:
		return true
	default:
		return false
	}
}

// wait waits for d; it returns false when the agent stops first.
func (a *Agent) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a.stopped:
		return false
	case <-timer.C:
		return true
	}
}

// drainSpool gives the last reports a bounded time to be answered. What is left is sent by the next life.
func (a *Agent) drainSpool(life context.Context) {
	limit := time.After(a.timing.callTimeout())
	for len(a.spool.Pending()) > 0 {
		select {
		case <-limit:
			return
		case <-a.failed:
			return
		case <-life.Done():
			return
		case <-time.After(spoolLook):
		}
	}
}

const spoolLook = 20 * time.Millisecond

// cookiePrefix begins the cookie of every process that this host's agents start.
func (a *Agent) cookiePrefix() string { return "phonebooth-" + string(a.host) + "-" }
