package adb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// gate is an adb server of one lease: it listens on loopback, knows one transport of the real server, and carries what
// clients do with it through connections that end with the gate.
//
//  1. A write to anybody asks first whether the lease may still drive: see package fence. So a process that was stopped until after
//     the fence passes nothing when it goes on.
//  2. When the real server ends, or the transport leaves its list, the gate has lost its device for good, whatever comes
//     back under that transport id. It goes on answering that there is none.
//  3. A gate that is cut keeps its port and hangs up on everybody, so that what is left of the lease finds neither another
//     lease's gate there, nor a free place to start an adb server of its own.
//  4. Nothing here waits for anything while it holds a lock, and no lock is held while the lease is asked. The lease may
//     be locked while it cuts, so a cut waits for nothing either.
type gate struct {
	lease   bridge.Lease
	device  wire.Device
	server  *wire.Client // the real one; what it opens are lines of this gate
	program int          // version of this host's adb program, 0 when it is not known
	door    net.Listener // for clients; its port stays taken until close
	fence   *fence.Fence // of all that is open
	running sync.WaitGroup

	mu       sync.Mutex
	lost     bool
	seen     *wire.Device  // as the server lists it now, or nil
	changed  chan struct{} // closed and replaced when seen changes
	forwards []*forward
	reverses []*reverse
	told     bool     // the device was told to listen on a port
	started  []string // instrumentations
}

// openTime bounds the opening of a service on a device that hangs.
const openTime = 30 * time.Second

// newGate opens a gate to a transport. The error is bridge.ErrGone when the server does not list it as ready.
func newGate(ctx context.Context, server wire.Address, program int, device wire.Device, lease bridge.Lease) (*gate, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	g := &gate{lease: lease, device: device, program: program, changed: make(chan struct{})}
	g.fence = fence.New(lease.MayDrive, end)
	g.server = wire.New(server, wire.Options{CallTimeout: openTime, Dial: g.fence.Dial})
	if err := g.begin(ctx, life, wire.New(server, wire.Options{})); err != nil {
		g.fence.Cut()
		g.running.Wait()
		return nil, err
	}
	g.running.Go(func() { g.accept(g.door, func(conn *fence.Line) { g.serve(life, conn) }) })
	return g, nil
}

// begin finds the device and then takes a port.
func (g *gate) begin(ctx, life context.Context, server *wire.Client) error {
	listed := make(chan struct{})
	g.running.Go(func() { g.follow(life, server, listed) })
	select {
	case <-listed:
	case <-ctx.Done():
		return fmt.Errorf("asking for the device: %w", ctx.Err())
	}
	if !g.there() {
		return bridge.ErrGone
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening the gate: %w", err)
	}
	g.door = door
	return nil
}

// follow keeps what is known of the device until life or the server ends. listed is closed when something is known.
func (g *gate) follow(life context.Context, server *wire.Client, listed chan<- struct{}) {
	first := sync.OnceFunc(func() { close(listed) })
	_ = server.Follow(life, func(list []wire.Device) { // whatever ends it but life, the device is lost
		g.see(list)
		first()
	})
	if life.Err() == nil {
		g.see(nil)
	}
	first()
}

// see takes a list of the server.
func (g *gate) see(list []wire.Device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = nil
	for _, d := range list {
		if !g.lost && same(d, g.device) {
			g.seen = &d
		}
	}
	g.lost = g.lost || g.seen == nil || !g.seen.State.Ready()
	close(g.changed)
	g.changed = make(chan struct{})
}

// look is the device as the server lists it now, nil when it does not, and a channel that is closed with the next change.
func (g *gate) look() (seen *wire.Device, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen, g.changed
}

// there reports whether the device was there all the time.
func (g *gate) there() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.lost
}

// instrumentations are what commands that passed have instrumented.
func (g *gate) instrumentations() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

// listen accepts connections until it is closed or the gate is cut. It returns once the port is bound.
func (g *gate) listen(network, address string, serve func(*fence.Line)) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if err := g.fence.Hold(l); err != nil {
		l.Close()
		return nil, err
	}
	g.running.Go(func() {
		defer g.fence.Release(l)
		g.accept(l, serve)
	})
	return l, nil
}

// accept takes connections until l is closed. A gate that is cut hangs up on them.
func (g *gate) accept(l net.Listener, serve func(*fence.Line)) {
	for {
		accepted, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no room for another, say
			time.Sleep(acceptPause)
			continue
		}
		if conn, err := g.fence.Line(accepted); err == nil {
			g.running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	}
}

const acceptPause = 50 * time.Millisecond

// close cuts the gate, waits for what it started, and takes back what it made on the device.
func (g *gate) close(ctx context.Context, server *wire.Client) error {
	g.fence.Cut()
	_ = g.door.Close() // it may be closed already
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-g.fence.Fallen()
		g.running.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("waiting for connections to end: %w", ctx.Err())
	}
	return g.tidy(ctx, server)
}
