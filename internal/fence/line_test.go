package fence_test

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// A process is stopped as likely as not while it waits for room to write.
func TestAWriteThatWaitsPassesNothingAfterTheFence(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var past atomic.Bool
	f := fence.New(func() bool { asked.Add(1); return !past.Load() }, func() {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := f.Dial(t.Context(), "tcp", l.Addr().String())
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
	if !errors.Is(w.err, fence.ErrFenced) || w.n >= size || read > int64(w.n) {
		t.Errorf("wrote %d bytes, %v, and %d arrived; want a part of %d and the fence", w.n, w.err, read, size)
	}
	if got := asked.Load() - before; got != 1 {
		t.Errorf("the lease was asked %d times after the fence, want once", got)
	}
	<-f.Fallen()
	if _, err := f.Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, fence.ErrCut) {
		t.Errorf("dialing through a fence that is cut: %v, want that it is", err)
	}
}

func TestACutClosesWhatIsOpenAndLetsNothingOpen(t *testing.T) {
	t.Parallel()
	cuts := 0
	f := fence.New(nil, func() { cuts++ })
	ours, theirs := net.Pipe()
	conn, err := f.Conn(ours)
	if err != nil {
		t.Fatal(err)
	}
	closed, other := net.Pipe()
	defer other.Close()
	released, err := f.Conn(closed)
	if err != nil || released.Close() != nil {
		t.Fatal(err)
	}
	if err := f.MayPass(); err != nil {
		t.Errorf("before the cut: %v", err)
	}
	f.Cut()
	f.Cut()
	<-f.Fallen()
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other end reads %v after the cut, want its end", err)
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("a connection takes bytes after the cut")
	}
	if err := f.MayPass(); !errors.Is(err, fence.ErrCut) || cuts != 1 {
		t.Errorf("after two cuts: %v, told %d times; want that it is cut, told once", err, cuts)
	}
	late, end := net.Pipe()
	defer end.Close()
	if _, err := f.Conn(late); !errors.Is(err, fence.ErrCut) || late.Close() != nil {
		t.Errorf("a connection after the cut: %v, want it refused, and its taker's still", err)
	}
}
