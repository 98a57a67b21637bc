package simdevice

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// transport is one adb server attached to the phone: one goroutine that reads, and one or two for each
// stream. It ends with the connection, and none of them outlives attach.
type transport struct {
	phone  *Phone
	conn   net.Conn
	life   context.Context // of what is opened from here; never passed on
	cancel context.CancelFunc
	// background runs what outlives the transport, until the phone is no longer served.
	background func(func(context.Context))

	sending sync.Mutex

	mu      sync.Mutex
	streams map[uint32]*stream // by our id
	next    uint32
	largest int // payload the peer takes
}

// attach serves one adb server until the connection, ctx or the transport's own cancel ends it.
func (p *Phone) attach(ctx context.Context, conn net.Conn, served *sync.WaitGroup) {
	service := ctx
	ctx, cancel := context.WithCancel(ctx)
	t := &transport{
		phone: p, conn: conn, life: ctx, cancel: cancel, streams: map[uint32]*stream{}, largest: 4096,
		background: func(run func(context.Context)) { served.Go(func() { run(service) }) },
	}
	p.mu.Lock()
	p.transports[t] = struct{}{}
	p.mu.Unlock()
	var running sync.WaitGroup
	defer func() {
		p.mu.Lock()
		delete(p.transports, t)
		t.closeWays()
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
			s.acknowledge(m.arg0)
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
	serve := t.phone.service(string(bytes.TrimRight(m.data, "\x00")))
	if serve == nil || m.arg0 == 0 || !t.phone.faulty().greets() {
		return t.send(message{kind: msgClose, arg1: m.arg0}) == nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s := t.begin(cancel)
	s.remote = m.arg0
	running.Go(func() {
		defer s.end()
		if t.send(message{kind: msgReady, arg0: s.local, arg1: s.remote}) == nil {
			serve(ctx, s)
		}
	})
	return true
}

// begin makes a stream that has our id and not yet the peer's.
func (t *transport) begin(cancel context.CancelFunc) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	s := &stream{
		transport: t, local: t.next, cancel: cancel, chunk: max(t.largest, 64),
		opened: make(chan uint32, 1), acks: make(chan struct{}, 1), in: make(chan []byte, 1),
	}
	t.streams[s.local] = s
	return s
}

// dial opens a service of the server's machine. ctx bounds the opening only.
func (t *transport) dial(ctx context.Context, service string) (io.ReadWriteCloser, error) {
	life, cancel := context.WithCancel(t.life)
	s := t.begin(cancel)
	s.dialed = true
	err := t.send(message{kind: msgOpen, arg0: s.local, data: []byte(service + "\x00")})
	if err == nil {
		select {
		case s.remote = <-s.opened:
			return conversation{life, s, &incoming{ctx: life, s: s}}, nil
		case <-life.Done():
			err = errors.New("refused")
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	s.end()
	return nil, fmt.Errorf("opening %s through an adb server: %w", service, err)
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
