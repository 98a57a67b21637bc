package simdevice

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"sync"
)

// transport is one adb server attached to the phone: one goroutine that reads, and one or two for each
// stream. It ends with the connection, and none of them outlives attach.
type transport struct {
	phone  *Phone
	conn   net.Conn
	cancel context.CancelFunc

	sending sync.Mutex

	mu      sync.Mutex
	streams map[uint32]*stream // by our id
	next    uint32
	largest int // payload the peer takes
}

// attach serves one adb server until the connection, ctx or the transport's own cancel ends it.
func (p *Phone) attach(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	t := &transport{phone: p, conn: conn, cancel: cancel, streams: map[uint32]*stream{}, largest: 4096}
	p.mu.Lock()
	p.transports[t] = struct{}{}
	p.mu.Unlock()
	var running sync.WaitGroup
	defer func() {
		p.mu.Lock()
		delete(p.transports, t)
		p.mu.Unlock()
	}()
	defer running.Wait()
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	r := bufio.NewReader(conn)
	for {
		m, err := readMessage(r)
		if err != nil || !t.handle(ctx, m, &running) {
			return
		}
	}
}

// drop cuts the connection first, so that the peer hears nothing of the streams that end with it.
func (t *transport) drop() {
	t.conn.Close()
	t.cancel()
}

// handle reports whether the transport goes on.
func (t *transport) handle(ctx context.Context, m message, running *sync.WaitGroup) bool {
	switch m.kind {
	case msgConnect, msgAuth:
		return t.greet(m)
	case msgOpen:
		return t.open(ctx, m, running)
	}
	s := t.stream(m.arg1)
	switch m.kind {
	case msgReady:
		if s != nil {
			s.acknowledge()
		}
	case msgWrite:
		if s == nil {
			return t.send(message{kind: msgClose, arg1: m.arg0}) == nil
		}
		return s.deliver(m.data)
	case msgClose:
		if s != nil {
			s.closedByPeer()
		}
	default:
		return false // STLS and what is not known: this phone never offered it
	}
	return true
}

// greet answers a server's CNXN, or its attempts to sign our token, as the phone's fault wants it.
func (t *transport) greet(m message) bool {
	fault := t.phone.faulty()
	switch {
	case fault == offline:
		return true
	case fault == unauthorized:
		return t.send(message{kind: msgAuth, arg0: authToken, data: bytes.Repeat([]byte{0x5a}, tokenSize)}) == nil
	case m.kind == msgAuth:
		return false
	}
	t.mu.Lock()
	t.largest = int(min(m.arg1, maxPayload))
	t.mu.Unlock()
	return t.send(message{kind: msgConnect, arg0: protocolVersion, arg1: maxPayload, data: []byte(t.phone.banner())}) == nil
}

func (t *transport) open(ctx context.Context, m message, running *sync.WaitGroup) bool {
	serve := serviceFor(string(bytes.TrimRight(m.data, "\x00")))
	if serve == nil || m.arg0 == 0 || !t.phone.faulty().greets() {
		return t.send(message{kind: msgClose, arg1: m.arg0}) == nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{transport: t, remote: m.arg0, cancel: cancel, acks: make(chan struct{}, 1), in: make(chan []byte, 1)}
	t.mu.Lock()
	t.next++
	s.local = t.next
	t.streams[s.local] = s
	s.chunk = max(t.largest, 64)
	t.mu.Unlock()
	running.Go(func() {
		defer s.end()
		if t.send(message{kind: msgReady, arg0: s.local, arg1: s.remote}) == nil {
			serve(ctx, s)
		}
	})
	return true
}

func (t *transport) stream(id uint32) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams[id]
}

func (t *transport) send(m message) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	_, err := t.conn.Write(m.encode())
	return err
}
