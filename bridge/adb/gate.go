package adb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// gate is an adb server of one lease: it listens on loopback, knows one transport of the real server, and carries what
// clients do with it through connections that end with the gate.
//
//  1. A write to anybody asks first whether the lease may still drive: see line. So a process that was stopped until after
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
	end     context.CancelFunc
	cut     func()        // closes all that is open, at once and for good
	closed  chan struct{} // closed when a cut has closed it
	running sync.WaitGroup

	mu       sync.Mutex
	shut     bool // cut
	lost     bool
	seen     *wire.Device  // as the server lists it now, or nil
	changed  chan struct{} // closed and replaced when seen changes
	open     map[io.Closer]bool
	forwards []*forward
	reverses []*reverse
	told     bool     // the device was told to listen on a port
	started  []string // instrumentations
}

// openTime bounds the opening of a service on a device that hangs.
const openTime = 30 * time.Second

var (
	errCut    = errors.New("the lease has ended")
	errFenced = errors.New("the lease may not drive its device any more")
)

// newGate opens a gate to a transport. The error is bridge.ErrGone when the server does not list it as ready.
func newGate(ctx context.Context, server wire.Address, program int, device wire.Device, lease bridge.Lease) (*gate, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	g := &gate{lease: lease, device: device, program: program, end: end, closed: make(chan struct{}), changed: make(chan struct{}), open: map[io.Closer]bool{}}
	g.cut = sync.OnceFunc(g.shutDown)
	g.server = wire.New(server, wire.Options{CallTimeout: openTime, Dial: g.dial})
	if err := g.begin(ctx, life, wire.New(server, wire.Options{})); err != nil {
		g.cut()
		g.running.Wait()
		return nil, err
	}
	g.running.Go(func() { g.accept(g.door, func(conn *line) { g.serve(life, conn) }) })
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

// mayPass is nil when a chunk may be passed now.
func (g *gate) mayPass() error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut {
		return errCut
	}
	if g.lease.MayDrive != nil && !g.lease.MayDrive() {
		g.cut()
		return errFenced
	}
	return nil
}

// shutDown is the first cut. What is open is closed beside it: closing waits for a write that asks the lease.
func (g *gate) shutDown() {
	g.mu.Lock()
	g.shut = true
	open := g.open
	g.open = map[io.Closer]bool{}
	g.mu.Unlock()
	g.end()
	go func() {
		defer close(g.closed)
		for c := range open {
			if l, ok := c.(*line); ok {
				l.abort()
			} else {
				_ = c.Close() // it is closed already
			}
		}
	}()
}

// hold takes what a cut must close. When the gate is cut already that is an error, and the caller closes it.
func (g *gate) hold(c io.Closer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return errCut
	}
	g.open[c] = true
	return nil
}

// instrumentations are what commands that passed have instrumented.
func (g *gate) instrumentations() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

func (g *gate) release(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
}

// listen accepts connections until it is closed or the gate is cut. It returns once the port is bound.
func (g *gate) listen(network, address string, serve func(*line)) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if err := g.hold(l); err != nil {
		l.Close()
		return nil, err
	}
	g.running.Go(func() {
		defer g.release(l)
		g.accept(l, serve)
	})
	return l, nil
}

// accept takes connections until l is closed. A gate that is cut hangs up on them.
func (g *gate) accept(l net.Listener, serve func(*line)) {
	for {
		accepted, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no room for another, say
			time.Sleep(acceptPause)
			continue
		}
		if conn, err := g.line(accepted); err == nil {
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
	g.cut()
	_ = g.door.Close() // it may be closed already
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-g.closed
		g.running.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("waiting for connections to end: %w", ctx.Err())
	}
	return g.tidy(ctx, server)
}
