package simdevice

import (
	"context"
	"io"
	"sync/atomic"
)

// stream is one service in use. One payload at most is under way in each direction: the sender
// waits for an OKAY before the next, and ours goes out when the payload has been read.
type stream struct {
	transport     *transport
	local, remote uint32
	cancel        context.CancelFunc
	chunk         int
	acks          chan struct{}
	in            chan []byte
	peerClosed    atomic.Bool
	dialed        bool        // by the phone, before anybody else knew of it
	opened        chan uint32 // of a dialed stream: the peer's id
	greeted       bool        // it was sent; the transport's reader alone looks
}

// acknowledge takes the peer's OKAY. The first on a stream that the phone opened tells the peer's id.
func (s *stream) acknowledge(remote uint32) {
	if s.dialed && !s.greeted {
		s.greeted = true
		s.opened <- remote
		return
	}
	select {
	case s.acks <- struct{}{}:
	default: // an OKAY that nobody waits for
	}
}

// deliver takes a payload from the peer. A second one before our OKAY breaks the protocol.
func (s *stream) deliver(data []byte) bool {
	select {
	case s.in <- data:
		return true
	default:
		return false
	}
}

func (s *stream) closedByPeer() {
	s.peerClosed.Store(true)
	s.cancel()
}

// end closes our side. It runs when the service has returned.
func (s *stream) end() {
	s.cancel()
	s.transport.mu.Lock()
	delete(s.transport.streams, s.local)
	s.transport.mu.Unlock()
	if !s.peerClosed.Load() {
		// The peer learns it from the connection if this does not arrive.
		_ = s.transport.send(message{kind: msgClose, arg0: s.local, arg1: s.remote})
	}
}

// outgoing writes to a stream's peer until ctx ends.
type outgoing struct {
	ctx context.Context
	s   *stream
}

func (w outgoing) Write(p []byte) (int, error) {
	sent := 0
	for len(p) > 0 {
		n := min(len(p), w.s.chunk)
		if err := w.ctx.Err(); err != nil {
			return sent, err
		}
		if err := w.s.transport.send(message{kind: msgWrite, arg0: w.s.local, arg1: w.s.remote, data: p[:n]}); err != nil {
			return sent, err
		}
		select {
		case <-w.s.acks:
		case <-w.ctx.Done():
			return sent, w.ctx.Err()
		}
		sent += n
		p = p[n:]
	}
	return sent, nil
}

// incoming reads what a stream's peer writes; the end of ctx is the end of the input.
type incoming struct {
	ctx  context.Context
	s    *stream
	rest []byte
}

func (r *incoming) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.take(); len(r.rest) > 0 { // what had come before the end counts
			break
		}
		select {
		case r.rest = <-r.s.in:
			if len(r.rest) == 0 {
				r.ready()
			}
		case <-r.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		r.ready()
	}
	return n, nil
}

// take takes a payload if one is there.
func (r *incoming) take() {
	select {
	case r.rest = <-r.s.in:
		if len(r.rest) == 0 {
			r.ready()
		}
	default:
	}
}

func (r *incoming) ready() {
	// A connection that is gone ends ctx, which the next read sees.
	_ = r.s.transport.send(message{kind: msgReady, arg0: r.s.local, arg1: r.s.remote})
}
