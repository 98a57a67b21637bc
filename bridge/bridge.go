// Package bridge is the contract with whatever attaches devices to a host: adb, a list in a file, a simulation.
//
// A [Bridge] finds and watches devices, and gives the holder of a lease [Access] to one of them. It knows nothing of tasks,
// does not decide who may use a device, and is asked for one Access a device at a time: the Host Agent sees to that, and
// never opens one before everything of the last is closed.
//
//	go b.Watch(ctx, func(devices []bridge.Device) { ... })   // the full list, at first and after each change
//	access, err := b.Open(ctx, key, lease)
//	... a runner gets access.Env() and drives ...
//	access.Cut()                                             // at the end of the lease, at the latest
//	err = access.Close(ctx)                                  // nil: nothing of it is left on the device
//
// A [Registry] is a value that a program fills and passes on; package bridge/builtin fills one with what ships. Bridges must
// be safe for use by any number of goroutines, as must each Access. Check one with package bridge/bridgetest.
package bridge

import (
	"context"
	"errors"
	"io"

	"github.com/phonebooth-dev/phonebooth"
)

// ErrGone means that the device that was opened, or is to be, is not there. One that left and came back meanwhile is gone
// for whoever had opened it before.
var ErrGone = errors.New("the device is gone")

// Device is one device as its bridge sees it.
type Device struct {
	Key        string // stable over replugging and restarts, never two devices'; unique within its bridge
	Name       string // what people and runners call it: a serial, usually
	DriverType string
	Tags       []string
	Attributes map[string]string
	Condition  phonebooth.Condition // Ready, or anything else in the words of what the bridge talks to
	Reason     string               // for people: why it is not ready
	Lock       string               // its name on this machine, for other agents that reach it too; "": this bridge alone does
}

// Bridge finds and watches devices.
type Bridge interface {
	// Watch calls changed with the full list at first and after each change until ctx ends; then it returns ctx's error. An
	// outage of what the bridge talks to is an empty list, not an end. Calls come one at a time, and changed does not block.
	// It is called once.
	Watch(ctx context.Context, changed func([]Device)) error

	// Open gives access to a device for a lease. The error is ErrGone when there is no such device, or none that is ready.
	Open(ctx context.Context, key string, lease Lease) (Access, error)
}

// Lease is what a bridge knows of the lease that it opens a device for. The zero value is one that does not end by itself.
type Lease struct {
	// MayDrive reports whether something may be done to the device now. A bridge through which commands go asks before each
	// piece that it passes: in a process that was stopped Cut may come late. Whoever calls Cut may hold what MayDrive needs:
	// so Cut neither asks, nor waits for somebody who does. Nil: always.
	MayDrive func() bool

	// Log is told each command that is passed to the device, one line a Write, from any goroutine. Nil: nobody is.
	Log io.Writer

	// Env is what every process that the bridge starts for the lease must have in its environment, NAME=VALUE: it marks the
	// process, so that it is found and killed after the lease, also when the agent has died.
	Env []string
}

// Access is the right of one lease to use one device.
type Access interface {
	// Env is what a runner's environment must hold to find the device, NAME=VALUE.
	Env() []string

	// Probe asks whether the device that was opened is there and takes commands. The error is ErrGone when it is not; any
	// other error means that it is not known.
	Probe(ctx context.Context) error

	// Cut ends the access at once: whatever still runs with it cannot reach the device any more, as far as the bridge can
	// see to that. It does not block, and cutting twice is cutting once.
	Cut()

	// Close cuts and puts the device in order for the next lease. Nil means that nothing of the lease is left on it, and that
	// the device is gone for this access, as Probe says from then on; after an error Close is called again later.
	Close(ctx context.Context) error
}

// Unfit is an error that says, for people and in a few words, why a device cannot be given to the next lease: "its shell does
// not answer". It may stand anywhere in an error's chain.
type Unfit string

func (u Unfit) Error() string { return string(u) }
