// Package fence holds what passes through a gate within its lease.
//
// A gate opens its connections through the fence of its lease:
//
//	f := fence.New(lease.MayDrive, func() { ... })   // called at the cut, beside what the fence does itself
//	client, err := f.Conn(accepted)                  // ends with the fence
//	service, err := f.Dial(ctx, "tcp", address)      // ends with it, and asks the lease before every write
//	f.Cut()
//
// It knows nothing of what is said on a connection, and starts nothing but what closes.
//
// # What holds
//
//  1. A [Line] asks before every single write of the system whether the lease may still drive. So a process that was stopped
//     until after the fence passes nothing when it goes on, whether it was to write or waited for room.
//  2. Everything that was opened is closed by the first cut, and nothing opens after it.
//  3. A cut waits for nothing, and no lock is held while the lease is asked: the lease may be locked while it cuts.
//
// Everything may be called from any number of goroutines.
package fence

import (
	"errors"
	"io"
	"sync"
)

// Why nothing passes.
var (
	ErrCut    = errors.New("the lease has ended")
	ErrFenced = errors.New("the lease may not drive its device any more")
)

// Fence is where a gate ends when its lease does.
type Fence struct {
	mayDrive func() bool
	fall     func() // the first cut
	fallen   chan struct{}

	mu   sync.Mutex
	shut bool
	open map[io.Closer]bool
}

// New makes the fence of a lease. Without mayDrive the lease always may. atCut is called by the first cut; it does not block.
func New(mayDrive func() bool, atCut func()) *Fence {
	f := &Fence{mayDrive: mayDrive, fallen: make(chan struct{}), open: map[io.Closer]bool{}}
	f.fall = sync.OnceFunc(func() { f.shutDown(); atCut() })
	return f
}

// Cut ends everything at once and for good. What is open is closed beside it: closing may wait for a write that asks the lease.
func (f *Fence) Cut() { f.fall() }

func (f *Fence) shutDown() {
	f.mu.Lock()
	f.shut = true
	open := f.open
	f.open = nil
	f.mu.Unlock()
	go func() {
		defer close(f.fallen)
		for c := range open {
			if conn, ok := c.(interface{ Abort() }); ok {
				conn.Abort()
			} else {
				_ = c.Close() // it may be closed already
			}
		}
	}()
}

// Fallen is closed when a cut has closed everything.
func (f *Fence) Fallen() <-chan struct{} { return f.fallen }

// MayPass is nil when something may be passed now, else ErrCut or ErrFenced. A lease that may not drive any more is cut.
func (f *Fence) MayPass() error {
	f.mu.Lock()
	shut := f.shut
	f.mu.Unlock()
	if shut {
		return ErrCut
	}
	if f.mayDrive != nil && !f.mayDrive() {
		f.Cut()
		return ErrFenced
	}
	return nil
}

// Hold takes what a cut must close. When that has come already it is ErrCut, and the caller closes it.
func (f *Fence) Hold(c io.Closer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return ErrCut
	}
	f.open[c] = true
	return nil
}

// Release lets go of what was held, because it is closed.
func (f *Fence) Release(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, c)
}
