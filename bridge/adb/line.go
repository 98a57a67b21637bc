package adb

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// line is a connection of a gate, to a client, to the real server, or to what was forwarded. It ends with the gate.
type line struct {
	net.Conn
	gate *gate
	raw  syscall.RawConn
}

// line takes a connection in.
func (g *gate) line(conn net.Conn) (*line, error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		conn.Close()
		return nil, errors.ErrUnsupported
	}
	raw, err := c.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	l := &line{Conn: conn, gate: g, raw: raw}
	if err := g.hold(l); err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

// dial connects to the real server, or to where a reverse leads.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return g.line(conn)
}

// Write asks the lease before every single write of the system, also after it waited for room: whatever time passed in
// between, nothing goes out after the fence.
func (l *line) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := l.write(p[sent:])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (l *line) write(p []byte) (n int, err error) {
	waited := l.raw.Write(func(fd uintptr) bool {
		if err = l.gate.mayPass(); err != nil {
			return true
		}
		n, err = syscall.Write(int(fd), p)
		return !errors.Is(err, syscall.EAGAIN)
	})
	switch {
	case waited != nil:
		return 0, waited
	case errors.Is(err, syscall.EINTR):
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("write", err)
	}
	return n, nil
}

// Close ends the connection; what was written still arrives.
func (l *line) Close() error {
	l.gate.release(l)
	return l.Conn.Close()
}

// abort ends the connection, and what has not left this machine's buffers is dropped.
func (l *line) abort() {
	if c, ok := l.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // it is closed already
	}
	_ = l.Conn.Close() // it is closed already
}

// closeWrite says that no more comes.
func (l *line) closeWrite() {
	if c, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // it is closed already
	}
}

const (
	chunk = 128 << 10
	// lastWords is how long a client may go on sending after its service has ended.
	lastWords = time.Second
)

// carry passes bytes between a client and a service until one of them ends.
//
// A client that says no more goes on hearing. When the service has ended, its client hears all of it, and what the client
// still sends is thrown away for a while: closing at once would make the system drop what the client has not read.
func (g *gate) carry(client, service *line) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := io.CopyBuffer(service, client, make([]byte, chunk)); err == nil {
			service.closeWrite()
			return
		}
		_, _ = io.Copy(io.Discard, client) // until its end, or lastWords
	}()
	_, err := io.CopyBuffer(client, service, make([]byte, chunk))
	if err == nil {
		client.closeWrite()
		_ = client.SetReadDeadline(time.Now().Add(lastWords)) // it is closed already
	} else {
		client.abort()
	}
	service.Close()
	<-sent
	client.Close()
}
