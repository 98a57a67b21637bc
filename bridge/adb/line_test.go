package adb

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
)

// A process is stopped as likely as not while it waits for room to write.
func TestAWriteThatWaitsPassesNothingAfterTheFence(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var past atomic.Bool
	g := &gate{closed: make(chan struct{}), open: map[io.Closer]bool{}, end: func() {}}
	g.cut = g.shutDown
	g.lease = bridge.Lease{MayDrive: func() bool { asked.Add(1); return !past.Load() }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := g.dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	type written struct {
		n   int
		err error
	}
	const size = 64 << 20
	done := make(chan written)
	go func() {
		n, err := ours.Write(make([]byte, size))
		done <- written{n, err}
	}()
	for last := int64(0); asked.Load() < 2 || asked.Load() != last; { // until it waits
		last = asked.Load()
		time.Sleep(50 * time.Millisecond)
	}
	past.Store(true)
	before := asked.Load()
	read, _ := io.Copy(io.Discard, theirs) // it ends with a reset
	w := <-done
	if !errors.Is(w.err, errFenced) || w.n >= size || read > int64(w.n) {
		t.Errorf("wrote %d bytes, %v, and %d arrived; want a part of %d and the fence", w.n, w.err, read, size)
	}
	if got := asked.Load() - before; got != 1 {
		t.Errorf("the lease was asked %d times after the fence, want once", got)
	}
	<-g.closed
	if _, err := g.dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, errCut) {
		t.Errorf("dialing through a gate that is cut: %v, want that it is", err)
	}
}
