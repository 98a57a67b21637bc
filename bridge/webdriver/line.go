package webdriver

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// line is a connection of a gate, from a client or to chromedriver. It ends with the gate.
type line struct {
	net.Conn
	gate *gate
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

// door is where clients come in.
type door struct {
	net.Listener
	gate *gate
}

// Accept takes the next client. A gate that was cut still takes some, to tell them so.
func (d door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l := &line{Conn: conn, gate: d.gate}
	d.gate.hold(l)
	return l, nil
}

// order is a line to chromedriver.
type order struct {
	*line
	raw syscall.RawConn
}

// dial connects to chromedriver.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	l := &line{Conn: conn, gate: g}
	g.hold(l)
	if err := g.mayPass(); err != nil { // a cut may not have seen it
		l.Close()
		return nil, err
	}
	return &order{l, raw}, nil
}

// Write asks the lease before every single write of the system, also after it waited for room: whatever time passed in
// between, nothing goes out after the fence.
func (o *order) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		n, err := o.write(p[sent:])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (o *order) write(p []byte) (n int, err error) {
	waited := o.raw.Write(func(fd uintptr) bool {
		if err = o.gate.mayPass(); err != nil {
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
		return max(n, 0), os.NewSyscallError("write", err)
	}
	return n, nil
}
