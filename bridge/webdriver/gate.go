package webdriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// gate is a WebDriver server of one lease: it listens on loopback, and passes commands on to a chromedriver of its own.
//
//  1. A write to chromedriver asks first whether the lease may still drive: see package fence. So a process that was stopped
//     until after the fence passes nothing when it goes on.
//  2. A gate that is cut hangs up on everybody and keeps its port, to tell whoever comes that the lease has ended.
//  3. Nothing here waits for anything while it holds a lock, and no lock is held while the lease is asked. The lease may be
//     locked while it cuts, so a cut waits for nothing either.
type gate struct {
	lease     bridge.Lease
	place     *place
	driver    *driver
	browser   chromium
	door      net.Listener
	server    *http.Server
	transport *http.Transport
	served    chan struct{} // closed when the server has ended
	fence     *fence.Fence  // of all that is open
	late      *fence.Fence  // of clients that come after the cut

	mu       sync.Mutex
	profiles map[string]string // directories, by the protocol's id of the browser that has it

	closing sync.Mutex
	gone    bool // closed, and nothing is left
}

// newGate opens a gate. Its directory is made in dir.
func newGate(dir string, p programs, phone Phone, lease bridge.Lease) (*gate, error) {
	place, err := newPlace(dir)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the gate: %w", err), place.remove())
	}
	g := &gate{
		lease: lease, place: place, browser: newChromium(p, phone), door: listener, served: make(chan struct{}),
		profiles: map[string]string{}, late: fence.New(nil, func() {}),
	}
	g.driver = newDriver(p.driver.path, place.dir, environ(os.Environ(), place.dir, lease.Env))
	g.fence = fence.New(lease.MayDrive, func() { go g.driver.kill() })                                          // which may wait for one that is just being started
	g.transport = &http.Transport{DialContext: g.fence.Dial, DisableKeepAlives: true, DisableCompression: true} // it never sends a command twice
	g.server = &http.Server{
		Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: headerTime,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // clients that misbehave are their runner's affair
	}
	go func() {
		defer close(g.served)
		_ = g.server.Serve(door{listener, g.fence, g.late}) // it ends when the gate is closed
	}()
	return g, nil
}

// headerTime bounds how long a client may take to say what it wants.
const headerTime = 10 * time.Second

func (g *gate) url() string { return "http://" + g.door.Addr().String() }

// close cuts the gate, ends every process of the lease, and removes its directory.
func (g *gate) close(ctx context.Context) error {
	g.fence.Cut()
	g.closing.Lock()
	defer g.closing.Unlock()
	if g.gone {
		return nil
	}
	_ = g.door.Close() // it may be closed already
	g.late.Cut()
	ending, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := g.server.Shutdown(ending); err != nil && !errors.Is(err, net.ErrClosed) { // of the door, which is closed
		return fmt.Errorf("waiting for commands to end: %w", err)
	}
	<-g.served
	if err := g.driver.close(ctx); err != nil {
		return err
	}
	if err := endAll(ctx, g.place.dir); err != nil {
		return err
	}
	if err := g.place.remove(); err != nil {
		return err
	}
	g.gone = true
	return nil
}
