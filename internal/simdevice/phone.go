// Package simdevice is a phone that is not there: the device side of the adb transport, over TCP, so
// that a real adb server lists it after `adb connect` and runs commands on it.
//
// It is for tests, demos and trying things out. It is not an emulator: there is no Android behind it,
// only a small shell with the commands that hosts and simple tasks use (see Phone.Serve), files in memory
// that can be pushed and pulled, ports in both directions (see Phone.Listen), and a screen that
// always shows the same (see Phone.Screen). Nor is it the "sim" driver type, which has no adb at all.
//
//	phone := simdevice.New(simdevice.Options{Serial: "R3", Model: "Pixel 9"})
//	err := phone.Serve(ctx, listener) // then: adb connect ADDRESS
//
// Its faults can be switched on while it serves: Drop, Offline, Unauthorized, Hang, and Recover ends
// them. Every command it begins is kept with the time, see Commands.
//
// All methods of a Phone may be called at the same time. Serve owns every goroutine it starts: when it
// returns, none is left. Several Serve calls, on several listeners, are one phone attached several times.
package simdevice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options describe a phone. The zero value is a usable one.
type Options struct {
	Serial       string // ro.serialno; "PHONEBOOTH0001" if empty
	Model        string // ro.product.model; "Simphone" if empty
	Manufacturer string // ro.product.manufacturer; "Phonebooth" if empty
	Release      string // Android's version; "15" if empty
	SDK          int    // the API level; 35 if zero
	// Properties are set on top of those above and may override them; an empty value removes one.
	Properties map[string]string
	// Features are announced to the adb server; nil means cmd and shell_v2. Without shell_v2 the phone
	// is one before Android 7: no exit codes, no separate standard error.
	Features []string
	// Now gives the time of commands. Nil means the machine's steady clock, the one that leases are
	// counted with: it counts suspend and is the same for every process on the machine.
	Now func() time.Duration
}

// Command is one command that a phone began to run.
type Command struct {
	At   time.Duration // by Options.Now
	Line string        // as it was written, without what was before and after it in a sequence
}

// Phone is one simulated phone.
type Phone struct {
	options Options

	mu         sync.Mutex
	properties map[string]string
	settings   map[string]string
	files      map[string]file                // by path
	ports      map[string]func(io.ReadWriter) // programs of the phone that listen
	ways       map[string]wayOut              // ports that lead to a server's machine
	logged     []string
	logMore    chan struct{} // closed and replaced with each line
	fault      fault
	transports map[*transport]struct{}
	commands   []Command
	processes  map[int]*process // by id
	lastPID    int
	vitals     Vitals
}

type fault int

const (
	healthy fault = iota
	offline
	unauthorized
	hanging
)

// New makes a phone that is switched on and not attached anywhere.
func New(o Options) *Phone {
	setDefault(&o.Serial, "PHONEBOOTH0001")
	setDefault(&o.Model, "Simphone")
	setDefault(&o.Manufacturer, "Phonebooth")
	setDefault(&o.Release, "15")
	setDefault(&o.SDK, 35)
	if o.Features == nil {
		o.Features = []string{"cmd", "shell_v2"}
	}
	if o.Now == nil {
		o.Now = steadyNow
	}
	name := strings.ToLower(strings.ReplaceAll(o.Model, " ", "_"))
	// A phone keeps the instant of its last boot, and no two have the same.
	boot := time.Now().Add(-rand.N(30 * 24 * time.Hour)).UnixMilli()
	p := &Phone{options: o, settings: map[string]string{}, transports: map[*transport]struct{}{}, files: map[string]file{}}
	p.ports, p.ways = map[string]func(io.ReadWriter){}, map[string]wayOut{}
	p.logMore = make(chan struct{})
	p.boot()
	p.files["/proc/sys/kernel/random/boot_id"] = file{content: []byte(strconv.FormatUint(rand.Uint64(), 16) + "\n"), mode: modeFile | 0o444}
	p.properties = map[string]string{
		"ro.serialno": o.Serial, "ro.boot.serialno": o.Serial,
		"ro.product.model": o.Model, "ro.product.manufacturer": o.Manufacturer, "ro.product.brand": o.Manufacturer,
		"ro.product.name": name, "ro.product.device": name, "ro.product.cpu.abi": "arm64-v8a",
		"ro.build.version.release": o.Release, "ro.build.version.sdk": strconv.Itoa(o.SDK),
		"ro.runtime.firstboot": strconv.FormatInt(boot, 10), "sys.boot_completed": "1",
	}
	for name, value := range o.Properties {
		p.SetProperty(name, value)
	}
	return p
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Serve accepts adb servers on l until ctx ends, which is no error. It closes l, and returns when all
// that it started has ended.
//
// The shell knows getprop, setprop, settings (get, put, delete), dumpsys (battery, power, window), echo, cat, rm, sleep, id,
// cmd package install, logcat (of what log wrote), ps, kill, df /data, ime, screenrecord, export, exec, nohup, setsid, true,
// false and exit; screencap -p, am instrument of the test package
// [TestComponent], whose classes org.phonebooth.sim.Pass, Fail, Crash and Cut end as they are called; input, the rest of am, pm, wm,
// svc, monkey and uiautomator do nothing and succeed. Commands may be joined
// by ";", line breaks, "&&", "||" and "&", grouped in parentheses, and redirected by ">&2", "2>&1", from and
// to /dev/null, and to files. When the stream of a command is closed, the command and all after it stop, but those in the
// background go on until they are killed: see Processes.
func (p *Phone) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("serving a simulated phone: the listener was closed: %w", err)
			}
			return fmt.Errorf("accepting an adb server: %w", err)
		}
		running.Go(func() { p.attach(ctx, conn, &running) })
	}
}

// Drop ends every transport at once, as a cable that is pulled. The adb server may connect again.
func (p *Phone) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := range p.transports {
		t.drop()
	}
}

// Offline drops the transports and leaves new ones without an answer.
func (p *Phone) Offline() { p.become(offline) }

// Unauthorized drops the transports and asks new ones for a key, which it never accepts.
func (p *Phone) Unauthorized() { p.become(unauthorized) }

// Hang lets every command that begins from now on never end; commands that run go on. The transports stay.
func (p *Phone) Hang() { p.become(hanging) }

// Recover ends every fault. Transports that were never answered are dropped, so that the adb server
// may try again; a command that hangs goes on hanging until its stream is closed.
func (p *Phone) Recover() {
	p.become(healthy)
}

// become changes the fault. Where it changes how a server is greeted, those attached must come again.
func (p *Phone) become(f fault) {
	p.mu.Lock()
	greeted := p.fault.greets() && f.greets()
	p.fault = f
	p.mu.Unlock()
	if !greeted {
		p.Drop()
	}
}

// greets reports whether a phone with this fault answers a server that attaches it.
func (f fault) greets() bool { return f == healthy || f == hanging }

// SetProperty changes a system property, for example sys.boot_completed; an empty value removes it.
func (p *Phone) SetProperty(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value == "" {
		delete(p.properties, name)
		return
	}
	p.properties[name] = value
}

// Commands lists every command begun so far, in the order in which they began.
func (p *Phone) Commands() []Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.commands)
}

func (p *Phone) record(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands = append(p.commands, Command{At: p.options.Now(), Line: line})
}

func (p *Phone) faulty() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// banner is what the phone says of itself when it is attached.
func (p *Phone) banner() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("device::ro.product.name=%s;ro.product.model=%s;ro.product.device=%s;features=%s",
		p.properties["ro.product.name"], p.properties["ro.product.model"], p.properties["ro.product.device"],
		strings.Join(p.options.Features, ","))
}
