// Package adb is the bridge to Android devices: whatever the adb server of this host lists, phones and emulators, each once.
//
//	b, err := adb.New(adb.Options{})   // the server that adb itself would use
//
// States are shown as the server says them; only a device that is attached, told apart and has booted is ready. What is one
// device and what are two is decided by package internal/adb: by serial number, USB path and what the device says of itself.
//
// A lease gets the server's address and ANDROID_SERIAL, which names the one device: its serial, or its USB path
// ("usb:1-2", which adb takes as well) where two devices on the server share the serial. There is no gate: a runner could
// reach other devices of the server, and is kept off its own at the fence by being killed. Nothing is done to a device between
// leases.
//
// An adb server that is away is started, unless Options says otherwise; none is ever ended.
package adb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// DriverType is the driver type of every device of this bridge.
const DriverType = "android"

// Options tunes a Bridge. The zero value is production.
type Options struct {
	Server  string              // HOST:PORT of the adb server; "": as adb itself decides by its environment
	NoStart bool                // leave a server that is away alone
	Adb     wire.Options        // of the client
	Getenv  func(string) string // nil: os.Getenv
}

// Bridge watches one adb server.
type Bridge struct {
	client *wire.Client

	mu     sync.Mutex
	phones []phone
	listed []wire.Device // every transport of the server
	opened map[*access]bool
}

// New makes the bridge to an adb server. It does not connect.
func New(o Options) (*Bridge, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	address, err := wire.ResolveAddress(o.Server, o.Getenv)
	if err != nil {
		return nil, err
	}
	o.Adb.StartMissing = !o.NoStart
	return &Bridge{client: wire.New(address, o.Adb), opened: map[*access]bool{}}, nil
}

// Open makes a bridge of settings: server, HOST:PORT of the adb server; start, "no" to leave a server that is away alone.
func Open(settings bridge.Settings) (bridge.Bridge, error) {
	if err := settings.Only("server", "start"); err != nil {
		return nil, err
	}
	start := settings["start"]
	if start != "" && start != "yes" && start != "no" {
		return nil, errors.New("start must be yes or no")
	}
	return New(Options{Server: settings["server"], NoStart: start == "no"})
}

// Open gives access to a ready device through the transport that is preferred now.
func (b *Bridge) Open(ctx context.Context, key string) (bridge.Access, error) {
	b.mu.Lock()
	at := slices.IndexFunc(b.phones, func(p phone) bool { return p.Key == key && p.ready() })
	if at < 0 {
		b.mu.Unlock()
		return nil, bridge.ErrGone
	}
	transport := b.phones[at].Transports[0]
	a := &access{bridge: b, transport: transport, target: target(transport, b.listed)}
	b.opened[a] = true
	b.mu.Unlock()
	if err := a.Probe(ctx); err != nil {
		_ = a.Close(ctx) // which only forgets it
		return nil, err
	}
	return a, nil
}

// list takes the server's newest list of transports, and what became of the opened ones by it.
func (b *Bridge) list(phones []phone, listed []wire.Device) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phones, b.listed = phones, listed
	for a := range b.opened {
		a.lost = a.lost || !a.in(listed)
	}
}

// target is the name under which adb finds d and nothing else: its serial, or its USB path where the serial is not its own.
func target(d wire.Device, listed []wire.Device) string {
	for _, other := range listed {
		if other.TransportID != d.TransportID && other.Serial == d.Serial && d.USBPath != "" {
			return d.USBPath
		}
	}
	return d.Serial
}

// access is one transport of the server.
type access struct {
	bridge    *Bridge
	transport wire.Device
	target    string
	lost      bool // guarded by the bridge: it was seen away once
}

// in reports whether the transport is in a list and takes commands.
func (a *access) in(listed []wire.Device) bool {
	return slices.ContainsFunc(listed, func(d wire.Device) bool {
		return d.TransportID == a.transport.TransportID && d.Serial == a.transport.Serial && d.State.Ready()
	})
}

// Env leads adb to the server and to the device.
func (a *access) Env() []string {
	socket := a.bridge.client.Address().String()
	env := []string{"ANDROID_SERIAL=" + a.target, "ADB_SERVER_SOCKET=" + socket}
	if address, ok := strings.CutPrefix(socket, "tcp:"); ok {
		at := strings.LastIndexByte(address, ':')
		host := strings.Trim(address[:at], "[]")
		env = append(env, "ANDROID_ADB_SERVER_ADDRESS="+host, "ANDROID_ADB_SERVER_PORT="+address[at+1:])
	}
	return env
}

// Probe asks the server whether it still has the transport. A transport that was away in between is lost for good: commands
// on it have ended, and adb may have called that a success.
func (a *access) Probe(ctx context.Context) error {
	devices, err := a.bridge.client.Devices(ctx)
	if errors.Is(err, wire.ErrUnreachable) {
		return fmt.Errorf("%w: %w", bridge.ErrGone, err) // a transport does not outlive its server
	}
	if err != nil {
		return err
	}
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	if a.lost = a.lost || !a.in(devices); a.lost {
		return bridge.ErrGone
	}
	return nil
}

// Cut does nothing: the access is a name, and whoever has it is killed.
func (a *access) Cut() {}

// Close forgets the access. Nothing was opened at the server, so nothing can fail.
func (a *access) Close(context.Context) error {
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	delete(a.bridge.opened, a)
	return nil
}
