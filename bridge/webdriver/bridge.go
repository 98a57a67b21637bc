// Package webdriver is the bridge to phones that any Linux host has: Chromium in mobile emulation, driven through chromedriver.
//
//	b, err := webdriver.New(webdriver.Options{Devices: 2})   // phone-1 and phone-2
//
// A phone is ready when both programs are found, run, and are of one major version; that is looked at once a minute.
//
// A lease gets a gate: a WebDriver server of its own on loopback, named by WEBDRIVER_URL. With its first command chromedriver
// is started behind it, on a port that nobody is told. The gate says itself which program is the browser, which phone it
// plays, that it has no window, and where its files are: a fresh directory, removed with the lease. It passes commands of
// WebDriver classic and no others: no BiDi, no DevTools port, no Android device that chromedriver could drive through adb. A
// cut closes its connections and kills chromedriver; a lease that may not drive passes nothing. It guards against mistakes,
// not against malice: a runner can start a browser of its own, and is then fenced as a process.
//
// The host ends chromedriver with each program of the lease that ends: a workflow's next step begins with a new browser.
//
// chromedriver dies with the thread of the agent that started it, Chromium with chromedriver. Of the processes those that are
// detached carry what the lease says that they must ([bridge.Lease]), all others name the lease's directory. What an agent
// that was killed left is killed and removed by the next one's [Bridge.Watch].
//
// On other systems than Linux no phone is ever ready: there the bridge could not be sure that no browser is left.
package webdriver

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// DriverType is the driver type of every phone of this bridge.
const DriverType = "webdriver"

// Options says which phones there are. The zero value is one phone of a common size.
type Options struct {
	Devices      int    // how many; 0: one
	Chromedriver string // the program; "": the first of the usual names in PATH
	Chromium     string
	Phone        Phone
	Dir          string        // where leases have their directories; "": the system's for temporary files
	LookAgain    time.Duration // between two looks at the programs; 0: a minute
}

// Bridge is a number of phones that one Chromium plays.
type Bridge struct {
	options Options

	mu     sync.Mutex
	health health
	opened map[string]*access // by key
}

// New makes a bridge. It looks at nothing yet.
func New(o Options) (*Bridge, error) {
	if o.Devices == 0 {
		o.Devices = 1
	}
	if o.Devices < 0 || o.Devices > phonebooth.MaxDevicesPerHost {
		return nil, errDevices
	}
	if err := o.Phone.check(); err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.LookAgain == 0 {
		o.LookAgain = time.Minute
	}
	return &Bridge{options: o, health: health{condition: phonebooth.Offline}, opened: map[string]*access{}}, nil
}

// Open gives access to a phone, to one lease at a time.
func (b *Bridge) Open(_ context.Context, key string, lease bridge.Lease) (bridge.Access, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.has(key) || b.health.condition != phonebooth.Ready {
		return nil, bridge.ErrGone
	}
	if b.opened[key] != nil {
		return nil, errors.New("another lease has the phone open")
	}
	a := &access{bridge: b, key: key}
	var err error
	if a.gate, err = newGate(b.options.Dir, b.health.programs, b.options.Phone, lease); err != nil {
		return nil, err
	}
	b.opened[key] = a
	return a, nil
}

const keyPrefix = "phone-"

// has tells whether there is such a phone. A key is spelt in one way only.
func (b *Bridge) has(key string) bool {
	for n := range b.options.Devices {
		if key == keyPrefix+strconv.Itoa(n+1) {
			return true
		}
	}
	return false
}

// access is one lease's right to one phone.
type access struct {
	bridge *Bridge
	key    string
	gate   *gate

	// Guarded by the bridge.
	missed bool // the programs were away at the last look
	lost   bool // and at the one before, some time
}

// Env names the gate: under a name of ours, and under that which Selenium's clients look for.
func (a *access) Env() []string {
	return []string{"WEBDRIVER_URL=" + a.gate.url(), "SELENIUM_REMOTE_URL=" + a.gate.url()}
}

// Probe tells whether the programs were there all the time, and asks chromedriver where it runs. When they were not there at
// the last look, it looks itself.
func (a *access) Probe(ctx context.Context) error {
	missed, lost := a.seen()
	if missed && !lost {
		h := a.bridge.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lost = a.note(h)
	}
	if lost {
		return bridge.ErrGone
	}
	return a.gate.driver.probe(ctx)
}

// note takes what a look of its own has found, and tells whether the phone is lost. What the bridge says of its phones is
// Watch's to say.
func (a *access) note(h health) (lost bool) {
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	a.saw(h)
	return a.lost
}

// saw takes one more look. The caller holds the bridge's lock.
func (a *access) saw(h health) {
	away := h.condition != phonebooth.Ready
	a.lost = a.lost || away && a.missed
	a.missed = away
}

func (a *access) seen() (missed, lost bool) {
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	return a.missed, a.lost || a.bridge.opened[a.key] != a // closed
}

// Cut cuts the gate.
func (a *access) Cut() { a.gate.fence.Cut() }

// Close ends every process of the lease and removes its directory.
func (a *access) Close(ctx context.Context) error {
	if err := a.gate.close(ctx); err != nil {
		return err
	}
	a.bridge.mu.Lock()
	defer a.bridge.mu.Unlock()
	if a.bridge.opened[a.key] == a {
		delete(a.bridge.opened, a.key)
	}
	return nil
}
