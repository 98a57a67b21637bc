// Package adb is the bridge to Android devices: whatever the adb server of this host lists, phones and emulators, each once.
//
//	b, err := adb.New(adb.Options{})   // the server that adb itself would use
//
// States are shown as the server says them; only a device that is attached, told apart and has booted is ready. What is one
// device and what are two is decided by package internal/adb: by serial number, USB path and what the device says of itself.
//
// A lease gets a gate: an adb server of its own on loopback that knows its one device, by its serial, its USB path
// ("usb:1-2", which adb takes as well) and without any name. It refuses what would change the real server for everybody
// (kill-server, connect, disconnect, pair, reconnect), and what would open another way to the device (tcpip, usb). Forwards
// and reverses are the gate's own. A cut closes all of it; a lease that may not drive passes nothing. It guards
// against mistakes, not against malice: a program that talks to the real server itself is not kept from it.
//
// After a lease the device is put back: what was started on it through adb is ended, ports that the gate opened are closed, the
// keyboard is the one that it was, what was instrumented is stopped, and the home screen is shown. Nothing is uninstalled.
// Then it must answer, have booted, and have room. How it was before the lease lies on the device itself until that has
// worked: so a lease that nobody could clean up after is cleaned up after before the next one, on whichever host.
//
// An adb server that is away is started, unless Options says otherwise; none is ever ended. One of another version than the
// host's adb program is used as it is: the conflict is an attribute of each device, adb_conflict, and a line in the log, and
// gates answer with the program's version, so that programs which use it do not take offence.
package adb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
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
	Log     *slog.Logger        // nil: slog.Default
}

// Bridge watches one adb server.
type Bridge struct {
	client *wire.Client
	log    *slog.Logger
	starts bool // a server that is away

	mu       sync.Mutex
	phones   []phone
	listed   []wire.Device // every transport of the server
	opened   map[*access]bool
	released map[string]bool // devices that leases have left since they were last looked at, by key
	versions versions
	freed    chan struct{} // gets a token when one has
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
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Adb.Away == nil {
		o.Adb.Away = func(err error, started bool) {
			if started {
				o.Log.Info("adb server started", "address", address.String())
			} else {
				o.Log.Warn("adb server is not reachable; its devices are not there", "address", address.String(), "err", err)
			}
		}
	}
	return &Bridge{log: o.Log, starts: !o.NoStart, client: wire.New(address, o.Adb), opened: map[*access]bool{}, released: map[string]bool{}, freed: make(chan struct{}, 1)}, nil
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
func (b *Bridge) Open(ctx context.Context, key string, lease bridge.Lease) (bridge.Access, error) {
	b.mu.Lock()
	at := slices.IndexFunc(b.phones, func(p phone) bool { return p.Key == key && p.ready() })
	if at < 0 {
		b.mu.Unlock()
		return nil, bridge.ErrGone
	}
	transport, program := b.phones[at].Transports[0], b.versions.program
	a := &access{bridge: b, key: key, transport: transport}
	b.opened[a] = true
	b.mu.Unlock()
	var err error
	if a.gate, err = newGate(ctx, b.client.Address(), program, transport, lease); err != nil {
		b.forget(a)
		return nil, err
	}
	if a.before, err = (bedside{b.client, transport}).begin(ctx); err == nil {
		return a, nil
	}
	if !a.gate.there() {
		err = bridge.ErrGone
	}
	err = errors.Join(err, a.gate.close(ctx, b.client))
	b.forget(a)
	return nil, err
}

func (b *Bridge) forget(a *access) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.opened, a)
	b.released[a.key] = true
	poke(b.freed)
}

// poke puts a token into a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// leases reports whether a lease is on the device with this key, and whether one has left it since that was last asked.
func (b *Bridge) leases(key string) (open, released bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for a := range b.opened {
		open = open || a.key == key
	}
	if released = b.released[key] && !open; released {
		delete(b.released, key)
	}
	return open, released
}

// beside is the way to a device that is there and takes commands, by whichever transport.
func (b *Bridge) beside(key string) (bedside, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.phones {
		if p.Key == key && p.Transports[0].State.Ready() {
			return bedside{b.client, p.Transports[0]}, true
		}
	}
	return bedside{}, false
}

// list takes the server's newest list of transports, and what became of the opened ones by it.
func (b *Bridge) list(phones []phone, listed []wire.Device) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phones, b.listed = phones, listed
	for a := range b.opened {
		a.lost = a.lost || !isIn(a.transport, listed)
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

// access is one transport of the server behind a gate.
type access struct {
	bridge    *Bridge
	key       string
	transport wire.Device
	gate      *gate
	before    baseline
	lost      bool // guarded by the bridge: it was seen away once

	closing sync.Mutex
	clean   bool // it was closed
}

// same reports whether two lines of one server are one transport.
func same(a, b wire.Device) bool { return a.TransportID == b.TransportID && a.Serial == b.Serial }

// isIn reports whether a transport is in a list and takes commands.
func isIn(transport wire.Device, listed []wire.Device) bool {
	return slices.ContainsFunc(listed, func(d wire.Device) bool { return same(d, transport) && d.State.Ready() })
}

// Env leads adb to the gate and to the device. With the address in the variables adb takes the server for one on another
// machine: it never starts one there, which would reach for every phone of the host.
func (a *access) Env() []string {
	address := a.gate.door.Addr().(*net.TCPAddr)
	host, port := address.IP.String(), strconv.Itoa(address.Port)
	return []string{
		"ANDROID_SERIAL=" + a.transport.Serial, "ADB_SERVER_SOCKET=tcp:" + net.JoinHostPort(host, port),
		"ANDROID_ADB_SERVER_ADDRESS=" + host, "ANDROID_ADB_SERVER_PORT=" + port,
	}
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
	if a.lost = a.lost || !isIn(a.transport, devices) || !a.gate.there(); a.lost || !a.bridge.opened[a] {
		return bridge.ErrGone
	}
	return nil
}

// Cut cuts the gate.
func (a *access) Cut() { a.gate.fence.Cut() }

// Close cuts the gate, waits for its end, and puts the device in order. One that is not there is cleaned when it is back, before
// it is opened again.
func (a *access) Close(ctx context.Context) error {
	if err := a.gate.close(ctx, a.bridge.client); err != nil {
		return err
	}
	a.closing.Lock()
	defer a.closing.Unlock()
	if a.clean {
		return nil
	}
	bed, there := a.bridge.beside(a.key)
	if there {
		if err := bed.restore(ctx, a.before, a.gate.instrumentations()); err != nil && bed.there(ctx) {
			return err
		}
	}
	a.clean = true
	a.bridge.forget(a)
	return nil
}
